"""Certificates of the server: what is refused at the start, and what a renewed one changes while it runs."""

import socket
import threading
from pathlib import Path

import pytest

from muster.bootstrap.tls import Certificate, certificate_of
from muster.client.certificates import PinnedConnection
from muster.client.errors import MusterError
from muster.domain.errors import Invalid
from muster.lib.fingerprints import fingerprint_of, unverified_context
from muster.settings.server import load_settings

pytestmark = pytest.mark.fast


def self_signed(home: Path) -> Certificate:
    home.mkdir(exist_ok=True)
    made = certificate_of(load_settings({"home": str(home), "tlsSelfSigned": True}, {}))
    assert made is not None
    return made


def greeted_with(certificate: Certificate) -> str:
    """The fingerprint that a client sees, of one connection made now."""
    ours, theirs = socket.socketpair()

    def serve() -> None:
        with certificate.context.wrap_socket(theirs, server_side=True):
            pass

    server = threading.Thread(target=serve)
    server.start()
    with unverified_context().wrap_socket(ours) as wrapped:
        der = wrapped.getpeercert(binary_form=True)
    server.join()
    assert der is not None
    return fingerprint_of(der)


def test_a_self_signed_certificate_is_made_once_and_its_key_is_private(tmp_path: Path) -> None:
    first = self_signed(tmp_path).fingerprint
    assert self_signed(tmp_path).fingerprint == first
    assert (tmp_path / "tls.key").stat().st_mode & 0o777 == 0o600


def test_without_settings_there_is_no_certificate(tmp_path: Path) -> None:
    assert certificate_of(load_settings({"home": str(tmp_path)}, {})) is None
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"tlsCert": "a.pem"}, "together"),
        ({"tlsKey": "a.key"}, "together"),
        ({"tlsCert": "a.pem", "tlsKey": "a.key", "tlsSelfSigned": True}, "either"),
    ],
)
def test_half_of_the_settings_is_refused(tmp_path: Path, given: dict[str, object], said: str) -> None:
    with pytest.raises(Invalid) as caught:
        load_settings({"home": str(tmp_path), **given}, {})
    assert said in str(caught.value.problems[0])


@pytest.mark.parametrize("broken", ["missing", "text", "key of another"])
def test_files_that_cannot_be_used_are_named(tmp_path: Path, broken: str) -> None:
    self_signed(tmp_path / "mine")
    self_signed(tmp_path / "other")
    certificate, key = tmp_path / "mine" / "tls.crt", tmp_path / "mine" / "tls.key"
    if broken == "missing":
        certificate.unlink()
    elif broken == "text":
        certificate.write_text("not a certificate")
    else:
        key.write_text((tmp_path / "other" / "tls.key").read_text())
    with pytest.raises(Invalid) as caught:
        Certificate(certificate, key)
    assert str(certificate) in caught.value.message
    assert "tlsCert" in (caught.value.hint or "")


def test_a_renewed_certificate_is_shown_to_the_next_client(tmp_path: Path) -> None:
    certificate = self_signed(tmp_path / "home")
    renewed = self_signed(tmp_path / "renewed").fingerprint
    assert not certificate.reload()
    for name in ("tls.crt", "tls.key"):
        (tmp_path / "renewed" / name).replace(tmp_path / "home" / name)
    assert certificate.reload()
    assert greeted_with(certificate) == certificate.fingerprint == renewed
    assert not certificate.reload()


def test_a_half_renewed_pair_leaves_the_old_one_in_use(tmp_path: Path) -> None:
    certificate = self_signed(tmp_path / "home")
    before = certificate.fingerprint
    self_signed(tmp_path / "renewed")
    (tmp_path / "renewed" / "tls.crt").replace(tmp_path / "home" / "tls.crt")
    assert not certificate.reload()
    assert greeted_with(certificate) == before
    (tmp_path / "renewed" / "tls.key").replace(tmp_path / "home" / "tls.key")
    assert certificate.reload(), "as soon as the key has come, too"
    assert greeted_with(certificate) == certificate.fingerprint != before


def test_a_pin_accepts_the_one_certificate_and_no_other(tmp_path: Path) -> None:
    trusted, stranger = self_signed(tmp_path / "trusted"), self_signed(tmp_path / "stranger")
    assert _pinned(trusted, trusted.fingerprint) is None
    refused = _pinned(stranger, trusted.fingerprint)
    assert refused is not None
    assert refused.code == "certificate-changed"
    assert stranger.fingerprint in refused.message


def _pinned(server: Certificate, fingerprint: str) -> MusterError | None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            accepted, _ = listener.accept()
            try:
                with server.context.wrap_socket(accepted, server_side=True) as wrapped:
                    wrapped.recv(1)
            except OSError:
                pass  # the client hung up, as it should when it does not trust the certificate

        thread = threading.Thread(target=serve)
        thread.start()
        connection = PinnedConnection("127.0.0.1", listener.getsockname()[1], 30.0, fingerprint)
        try:
            connection.connect()
        except MusterError as error:
            return error
        finally:
            connection.close()
            thread.join()
    return None
