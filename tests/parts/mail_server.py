"""A real SMTP server in a thread, which keeps the mails that it gets: with STARTTLS, TLS, logins and refusals."""

import asyncio
import datetime
import email
import ipaddress
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.message import EmailMessage
from email.policy import default
from pathlib import Path
from typing import Any

from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.parts.server import polls


@dataclass(frozen=True)
class Received:
    sender: str
    recipients: tuple[str, ...]
    raw: bytes
    has_tls: bool

    @property
    def message(self) -> EmailMessage:
        return email.message_from_bytes(self.raw, policy=default)

    @property
    def subject(self) -> str:
        return str(self.message["Subject"])

    @property
    def text(self) -> str:
        body = self.message.get_body(("plain",))
        assert body is not None
        return str(body.get_content())

    @property
    def html(self) -> str:
        body = self.message.get_body(("html",))
        assert body is not None
        return str(body.get_content())


@dataclass
class MailServer:
    port: int = 0
    certificate: Path | None = None
    has_tls: bool = False
    """Whether every connection is encrypted from its beginning."""
    mails: list[Received] = field(default_factory=list)
    refuse: Callable[[str], str | None] = lambda _: None
    """What to answer to a recipient, such as `550 unknown`; None accepts."""
    answer: str | None = None
    """What to answer to every mail, in place of accepting it."""
    pause: threading.Event = field(default_factory=threading.Event)
    """While it is set, nothing is answered to a mail."""

    def wait_for(self, count: int, timeout_s: float = 60.0) -> list[Received]:
        for _ in polls(timeout_s):
            if len(self.mails) >= count:
                return list(self.mails)
        raise AssertionError(f"{len(self.mails)} mails and not {count}: {[mail.subject for mail in self.mails]}")

    # -- what aiosmtpd calls ------------------------------------------------------------------------------------

    async def handle_RCPT(
        self, _server: Any, _session: Session, envelope: Envelope, address: str, _options: list[str]
    ) -> str:
        if refusal := self.refuse(address):
            return refusal
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, _server: Any, session: Session, envelope: Envelope) -> str:
        while self.pause.is_set():
            await asyncio.sleep(0.02)
        if self.answer is not None:
            return self.answer
        assert isinstance(envelope.content, bytes)
        mail = Received(
            str(envelope.mail_from), tuple(envelope.rcpt_tos), envelope.content, self.has_tls or bool(session.ssl)
        )
        self.mails.append(mail)
        return "250 OK"


@contextmanager
def running_mail_server(
    folder: Path | None = None, *, tls: str = "none", login: tuple[str, str] | None = None
) -> Iterator[MailServer]:
    """`tls` is none, starttls or tls. The certificate is made in the folder."""
    state = MailServer(has_tls=tls == "tls")
    options: dict[str, Any] = {}
    context: ssl.SSLContext | None = None
    if tls != "none":
        assert folder is not None
        context, state.certificate = own_tls_context(folder)
        options = {"tls_context": context, "require_starttls": True} if tls == "starttls" else {}
    if login is not None:
        user, password = (word.encode() for word in login)

        def authenticate(_s: Any, _session: Any, _e: Any, _mechanism: str, data: Any) -> AuthResult:
            assert isinstance(data, LoginPassword)
            return AuthResult(success=(data.login, data.password) == (user, password), handled=False)

        options |= {"authenticator": authenticate, "auth_required": True, "auth_require_tls": tls == "starttls"}
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="mail server", daemon=True)
    thread.start()

    async def listen() -> asyncio.Server:
        encrypted = context if tls == "tls" else None
        return await loop.create_server(lambda: SMTP(state, loop=loop, **options), "127.0.0.1", 0, ssl=encrypted)

    server = asyncio.run_coroutine_threadsafe(listen(), loop).result(30)
    state.port = server.sockets[0].getsockname()[1]
    try:
        yield state
    finally:
        state.pause.clear()
        asyncio.run_coroutine_threadsafe(_close(server), loop).result(30)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(30)
        loop.close()


async def _close(server: asyncio.Server) -> None:
    """Ends the conversations that go on, too."""
    server.close()
    others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


def own_tls_context(folder: Path) -> tuple[ssl.SSLContext, Path]:
    """With a certificate for localhost that it signed itself, and the file of that."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    names = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    file, key_file = folder / "mail.pem", folder / "mail.key"
    file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    key_file.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(file, key_file)
    return context, file
