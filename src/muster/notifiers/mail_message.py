"""Builds a notice as a mail: plain text, HTML if there is some, pictures inside it or attached.

Nobody can add a header: the title is put on one line, and the library refuses what is left of control characters.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime

from muster.lib.mail_addresses import ACCEPTED, is_mail_address
from muster.ports.notifying import Notice, Picture

_MOST_TITLE = 200
_PNG = "image/png"


def mail_message(notice: Notice, sender: str, recipients: Sequence[str]) -> EmailMessage:
    """The id of the message is that of the notice, so that mail programs recognise one that was sent twice."""
    message = EmailMessage(policy=SMTP)
    message["Subject"] = one_line(notice.title)
    message["From"] = mailbox(sender)
    message["To"] = [mailbox(recipient) for recipient in recipients]
    message["Date"] = format_datetime(datetime.fromtimestamp(notice.at, UTC))
    message["Message-ID"] = f"<{notice.id}@{mailbox(sender).domain or 'muster'}>"
    message["Auto-Submitted"] = "auto-generated"
    message["X-Muster-Notice"] = notice.id
    message.set_content(notice.text, cte="base64" if not notice.text.isascii() else None)
    if notice.html:
        message.add_alternative(notice.html, subtype="html", cte="base64")
    shown = [picture for picture in notice.pictures if notice.html and picture.media_type == _PNG]
    for picture in shown:
        html = next(
            part for part in message.iter_parts() if part.get_content_type() in ("text/html", "multipart/related")
        )
        assert isinstance(html, EmailMessage)
        _add_inside(html, picture)
    for picture in notice.pictures:
        if picture not in shown:
            kind, _, subkind = picture.media_type.partition("/")
            message.add_attachment(picture.content, maintype=kind, subtype=subkind, filename=one_line(picture.name))
    return message


def mailbox(text: str) -> Address:
    """Raises ValueError if the text is not an address of the form name@domain."""
    if not is_mail_address(text):
        raise ValueError(f"expected {ACCEPTED}")
    return Address(addr_spec=text)


def one_line(text: str) -> str:
    line = "".join(letter if letter.isprintable() else " " for letter in " ".join(text.split()))
    return line if len(line) <= _MOST_TITLE else f"{line[: _MOST_TITLE - 1]}…"


def _add_inside(html: EmailMessage, picture: Picture) -> None:
    kind, _, subkind = picture.media_type.partition("/")
    html.add_related(picture.content, maintype=kind, subtype=subkind, cid=f"<{picture.name}>", disposition="inline")
