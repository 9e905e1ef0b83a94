"""Sends notices by mail, with STARTTLS or TLS from the beginning, and with a login if there is one."""

import smtplib
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from enum import StrEnum

from muster.lib.deadlines import Deadline
from muster.notifiers.http_posting import shortened
from muster.notifiers.mail_message import mail_message
from muster.ports.notifying import NotDelivered, Notice

_STEPS = 10
"""How many answers a mail server gives besides one for each recipient."""


class Encryption(StrEnum):
    NONE = "none"
    STARTTLS = "starttls"
    TLS = "tls"


@dataclass(frozen=True, slots=True)
class MailServer:
    host: str
    port: int
    encryption: Encryption
    user: str
    password: str = field(repr=False)
    ca_file: str | None
    timeout_s: float


@dataclass(frozen=True, slots=True)
class Mail:
    server: MailServer
    sender: str
    recipients: tuple[str, ...]

    def send(self, notice: Notice) -> str:
        """A recipient whom the server refuses does not keep the notice from the others. A server that takes its time
        for each answer is not given up: it would deliver the mail, and get it again."""
        message = mail_message(notice, self.sender, self.recipients)
        within_s = self.server.timeout_s * (_STEPS + len(self.recipients))
        with _connected(self.server, within_s) as connection:
            refused = connection.send_message(message, self.sender, list(self.recipients))
        said = (
            f"{name} ({code} {shortened(words.decode(errors='replace'))})" for name, (code, words) in refused.items()
        )
        return f"the mail server refused {', '.join(said)}" if refused else ""


class _Plain(smtplib.SMTP):
    def __init__(self, server: MailServer, deadline: Deadline) -> None:
        self._deadline = deadline
        super().__init__(server.host, server.port, timeout=server.timeout_s)

    def getreply(self) -> tuple[int, bytes]:
        """The first one is the greeting, before anything is sent."""
        self._deadline.guard(self.sock)
        return super().getreply()


class _Encrypted(smtplib.SMTP_SSL):
    def __init__(self, server: MailServer, deadline: Deadline) -> None:
        self._deadline = deadline
        super().__init__(server.host, server.port, timeout=server.timeout_s, context=_context(server.ca_file))

    def getreply(self) -> tuple[int, bytes]:
        self._deadline.guard(self.sock)
        return super().getreply()


@contextmanager
def _connected(server: MailServer, within_s: float) -> Iterator[smtplib.SMTP]:
    place = f"the mail server {server.host}:{server.port}"
    with Deadline(within_s) as deadline:
        try:
            with _told(server, place, deadline) as connection:
                yield connection
        except NotDelivered:
            if deadline.is_over:
                raise NotDelivered(f"{place} has not taken the mail within {within_s:g} s") from None
            raise


@contextmanager
def _told(server: MailServer, place: str, deadline: Deadline) -> Iterator[smtplib.SMTP]:
    connection: smtplib.SMTP | None = None
    try:
        connection = _opened(server, deadline)
        yield connection
        with suppress(smtplib.SMTPException, OSError):  # the mail has been accepted
            connection.quit()
    except smtplib.SMTPAuthenticationError as error:
        raise NotDelivered(f"{place} refused the login of {server.user}: {_said(error)}") from None
    except smtplib.SMTPRecipientsRefused as error:
        code, words = next(iter(error.recipients.values()))
        raise NotDelivered(f"{place} refused every recipient: {code} {shortened(_text(words))}") from None
    except smtplib.SMTPResponseException as error:
        raise NotDelivered(f"{place} refused the mail: {_said(error)}") from None
    except smtplib.SMTPNotSupportedError as error:
        raise NotDelivered(f"{place} cannot do what is needed: {error}") from None
    except smtplib.SMTPException as error:
        if isinstance(error.__context__, TimeoutError):  # the library wraps it
            raise NotDelivered(f"{place} did not answer within {server.timeout_s:g} s") from None
        raise NotDelivered(f"{place} ended the conversation: {shortened(str(error))}") from None
    except TimeoutError:
        raise NotDelivered(f"{place} did not answer within {server.timeout_s:g} s") from None
    except ConnectionRefusedError:
        raise NotDelivered(f"{place} refused the connection") from None
    except ssl.SSLCertVerificationError as error:
        raise NotDelivered(f"{place} has a certificate that cannot be trusted: {error.verify_message}") from None
    except socket.gaierror as error:
        raise NotDelivered(f"{place} cannot be found: {error.strerror}") from None
    except UnicodeError:  # a host name that no name server could know
        raise NotDelivered(f"{place} cannot be found: its name is none") from None
    except OSError as error:
        raise NotDelivered(f"{place} cannot be reached: {error.strerror or error}") from None
    finally:
        if connection is not None:
            connection.close()


def _opened(server: MailServer, deadline: Deadline) -> smtplib.SMTP:
    opened = _Encrypted if server.encryption is Encryption.TLS else _Plain
    connection: smtplib.SMTP = opened(server, deadline)
    try:
        if server.encryption is Encryption.STARTTLS:
            connection.starttls(context=_context(server.ca_file))
        if server.user:
            connection.login(server.user, server.password)
    except BaseException:
        connection.close()
        raise
    return connection


def _context(ca_file: str | None) -> ssl.SSLContext:
    """The authorities of the file are trusted besides those of the system."""
    context = ssl.create_default_context()
    if ca_file is not None:
        context.load_verify_locations(ca_file)
    return context


def _said(error: smtplib.SMTPResponseException) -> str:
    return f"{error.smtp_code} {shortened(_text(error.smtp_error))}"


def _text(words: bytes | str) -> str:
    return words.decode(errors="replace") if isinstance(words, bytes) else words
