"""The server's certificate: given by files, or made by the server itself for clients that pin it. A certificate that is
renewed takes effect without a restart."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import structlog

from muster.domain.errors import Invalid, MusterError
from muster.lib.fingerprints import fingerprint_of
from muster.settings.server import ServerSettings

_log = structlog.get_logger("server.tls")
CHECK_S = 2.0


class Certificate:
    """A certificate with its key, read from files that may be replaced at any time."""

    def __init__(self, certificate: Path, key: Path) -> None:
        self._certificate = certificate
        self._key = key
        self._seen = self._stamp()
        self.context = self._loaded()
        self.fingerprint = self._fingerprint()
        """The SHA-256 of the certificate that is served, as clients remember it."""

    def reload(self) -> bool:
        """Serve what the files hold now, and return whether they have changed. A pair that does not fit together is
        left alone until it does: certificate and key are seldom replaced at the same instant."""
        stamp = self._stamp()
        if stamp == self._seen:
            return False
        try:
            self._loaded()
            self.context.load_cert_chain(self._certificate, self._key, password=_no_password)
        except (Invalid, OSError, ValueError) as error:
            _log.warning("certificate not usable, the old one stays", file=str(self._certificate), error=str(error))
            return False
        self._seen = stamp
        self.fingerprint = self._fingerprint()
        _log.info("new certificate", file=str(self._certificate), fingerprint=self.fingerprint)
        return True

    def ends_at(self) -> float | None:
        """When the first certificate of the file ends; None if the file cannot be read."""
        from cryptography import x509

        try:
            first = x509.load_pem_x509_certificates(self._certificate.read_bytes())[0]
        except (OSError, ValueError, IndexError):
            return None
        return first.not_valid_after_utc.timestamp()

    def _loaded(self) -> ssl.SSLContext:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        try:
            context.load_cert_chain(self._certificate, self._key, password=_no_password)
        except (OSError, ValueError) as error:
            raise Invalid(
                f"cannot use {self._certificate} with {self._key}: {_words(error)}",
                hint="tlsCert is a PEM file with the certificate and those that signed it, tlsKey its key, unencrypted",
            ) from None
        return context

    def _fingerprint(self) -> str:
        """Servers without TLS start faster without the cryptography library."""
        from cryptography import x509
        from cryptography.hazmat.primitives import serialization

        first = x509.load_pem_x509_certificates(self._certificate.read_bytes())[0]
        return fingerprint_of(first.public_bytes(serialization.Encoding.DER))

    def _stamp(self) -> tuple[tuple[int, int, int] | None, ...]:
        return tuple(_stamp(path) for path in (self._certificate, self._key))


def certificate_of(settings: ServerSettings) -> Certificate | None:
    """The certificate that the settings ask for; None for plain HTTP."""
    if settings.tls_cert is not None and settings.tls_key is not None:
        return Certificate(settings.home / settings.tls_cert, settings.home / settings.tls_key)
    if not settings.tls_self_signed:
        return None
    certificate, key = settings.home / "tls.crt", settings.home / "tls.key"
    if not (certificate.exists() and key.exists()):
        from muster.bootstrap.self_signed import make_self_signed

        make_self_signed(certificate, key, settings.host)
    return Certificate(certificate, key)


@asynccontextmanager
async def reloading(
    certificate: Certificate | None, on_change: Callable[[], Awaitable[None]], check_s: float = CHECK_S
) -> AsyncIterator[None]:
    """Looks at the files from time to time, because they may be links into a folder that is swapped as a whole."""

    async def look(watched: Certificate) -> None:
        while True:
            await asyncio.sleep(check_s)
            if watched.reload():
                try:
                    await on_change()
                except MusterError as error:
                    _log.warning("the login context does not have the new certificate", error=str(error))

    watcher = None if certificate is None else asyncio.create_task(look(certificate), name="certificate")
    try:
        yield
    finally:
        if watcher is not None:
            watcher.cancel()


def _stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def _no_password() -> str:
    """Answers in place of a terminal, on which the password of a key would be asked for otherwise."""
    raise ValueError("the key has a password")


def _words(error: Exception) -> str:
    if isinstance(error, ssl.SSLError):
        return error.reason.lower().replace("_", " ") if error.reason else "not a PEM file"
    return error.strerror or str(error) if isinstance(error, OSError) else str(error)
