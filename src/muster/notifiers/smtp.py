"""Sends notices by mail, with STARTTLS or TLS from the beginning, and with a login if there is one."""

import smtplib
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from enum import StrEnum

from muster.notifiers.http_posting import shortened
from muster.notifiers.mail_message import mail_message
from muster.ports.notifying import NotDelivered, Notice


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
        """A recipient whom the server refuses does not keep the notice from the others."""
        message = mail_message(notice, self.sender, self.recipients)
        with _connected(self.server) as connection:
            refused = connection.send_message(message, self.sender, list(self.recipients))
        said = (
            f"{name} ({code} {shortened(words.decode(errors='replace'))})" for name, (code, words) in refused.items()
        )
        return f"the mail server refused {', '.join(said)}" if refused else ""


@contextmanager
def _connected(server: MailServer) -> Iterator[smtplib.SMTP]:
    place = f"the mail server {server.host}:{server.port}"
    connection: smtplib.SMTP | None = None
    try:
        connection = _opened(server)
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
    except OSError as error:
        raise NotDelivered(f"{place} cannot be reached: {error.strerror or error}") from None
    finally:
        if connection is not None:
            connection.close()


def _opened(server: MailServer) -> smtplib.SMTP:
    connection: smtplib.SMTP
    if server.encryption is Encryption.TLS:
        connection = smtplib.SMTP_SSL(
            server.host, server.port, timeout=server.timeout_s, context=_context(server.ca_file)
        )
    else:
        connection = smtplib.SMTP(server.host, server.port, timeout=server.timeout_s)
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
    return ssl.create_default_context(cafile=ca_file)


def _said(error: smtplib.SMTPResponseException) -> str:
    return f"{error.smtp_code} {shortened(_text(error.smtp_error))}"


def _text(words: bytes | str) -> str:
    return words.decode(errors="replace") if isinstance(words, bytes) else words
