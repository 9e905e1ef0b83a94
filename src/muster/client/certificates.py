"""Certificates of servers: signed by an authority that this machine trusts, or pinned like the host key of SSH."""

import http.client
import re
import ssl
from urllib.parse import SplitResult

from muster.client.errors import BAD_INPUT, MusterError, unreachable
from muster.lib.fingerprints import fingerprint_of, unverified_context

UNTRUSTED = "certificate-untrusted"
CHANGED = "certificate-changed"
_FINGERPRINT = re.compile(r"(?:sha256:)?((?:[0-9a-f]{2}:?){32})", re.IGNORECASE)


class PinnedConnection(http.client.HTTPSConnection):
    """Accepts one certificate, whoever signed it and whatever it names, and no other."""

    def __init__(self, host: str, port: int | None, timeout: float, fingerprint: str) -> None:
        super().__init__(host, port, timeout=timeout, context=unverified_context())
        self._fingerprint = normalized(fingerprint)

    def connect(self) -> None:
        super().connect()
        found = _fingerprint(self.sock)
        if found != self._fingerprint:
            self.close()
            raise MusterError(
                f"the certificate of {self.host}:{self.port} is not the one that you trusted: it is {found}, and was "
                f"{self._fingerprint}",
                code=CHANGED,
                hint="somebody may be listening; ask the admin for the fingerprint, then run `muster login` again",
            )


class _VerifiedConnection(http.client.HTTPSConnection):
    def connect(self) -> None:
        try:
            super().connect()
        except ssl.SSLCertVerificationError as error:
            raise MusterError(
                f"cannot trust the certificate of {self.host}:{self.port}: {error.verify_message}",
                code=UNTRUSTED,
                hint="`muster login` with its address shows the fingerprint and remembers it",
            ) from error


def connection_to(address: SplitResult, timeout_s: float, fingerprint: str | None) -> http.client.HTTPConnection:
    assert address.hostname is not None
    if address.scheme != "https":
        return http.client.HTTPConnection(address.hostname, address.port, timeout=timeout_s)
    if fingerprint:
        return PinnedConnection(address.hostname, address.port, timeout_s, fingerprint)
    return _VerifiedConnection(address.hostname, address.port, timeout=timeout_s)


def check(address: SplitResult, timeout_s: float) -> None:
    """Raises MusterError if no authority that this machine trusts has signed the certificate. Nothing is sent."""
    connection = connection_to(address, timeout_s, None)
    try:
        connection.connect()
    except OSError as error:
        raise unreachable(address.geturl(), error.strerror or str(error)) from error
    finally:
        connection.close()


def expects_https(address: SplitResult, timeout_s: float) -> bool:
    """Whether the server at this address without encryption understands only HTTPS. Raises MusterError if nothing
    listens there. Plain HTTP is tried first, because a server without encryption would log a TLS greeting as garbage.
    """
    connection = connection_to(address, timeout_s, None)
    try:
        connection.request("GET", f"{address.path.rstrip('/')}/healthz")
        connection.getresponse()
    except (http.client.BadStatusLine, ConnectionResetError, BrokenPipeError):
        return speaks_tls(address, timeout_s)
    except TimeoutError:
        return False
    except OSError as error:
        raise unreachable(address.geturl(), error.strerror or str(error)) from error
    finally:
        connection.close()
    return False


def speaks_tls(address: SplitResult, timeout_s: float) -> bool:
    """Whether a server at this address answers a TLS greeting, whatever the scheme of the address is."""
    try:
        fingerprint_at(address, timeout_s)
    except OSError:
        return False
    return True


def fingerprint_at(address: SplitResult, timeout_s: float) -> str:
    """The fingerprint of the certificate that the server shows now. Nothing is sent to it."""
    connection = http.client.HTTPSConnection(
        address.hostname or "", address.port, timeout=timeout_s, context=unverified_context()
    )
    try:
        connection.connect()
        return _fingerprint(connection.sock)
    finally:
        connection.close()


def normalized(fingerprint: str) -> str:
    """Accepts the notations of other tools: with colons, in capitals, without the name of the hash."""
    found = _FINGERPRINT.fullmatch(fingerprint.strip())
    if found is None:
        raise MusterError(
            f"{fingerprint!r} is not a fingerprint",
            code=BAD_INPUT,
            hint="a fingerprint is SHA256: and 64 hexadecimal digits, as the server prints it when it starts",
        )
    return "SHA256:" + found[1].replace(":", "").lower()


def _fingerprint(sock: object) -> str:
    assert isinstance(sock, ssl.SSLSocket)
    der = sock.getpeercert(binary_form=True)
    assert der is not None
    return fingerprint_of(der)
