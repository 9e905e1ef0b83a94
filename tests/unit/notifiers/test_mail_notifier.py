"""Mails, sent to a real SMTP server and read back there."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from muster.notifiers.mail_message import mail_message, mailbox
from muster.notifiers.smtp import Encryption, Mail, MailServer
from muster.ports.notifying import NotDelivered, Notice, NoticeKind, Picture
from tests.parts.dripping import dripping
from tests.parts.mail_server import MailServer as RealServer
from tests.parts.mail_server import running_mail_server

pytestmark = pytest.mark.fast

NOTICE = Notice("1m7noticenotice1", NoticeKind.FAILURE, "gpu1 is down", "gpu1 is down: refused\n", 1_700_000_000.0)
TO = ("li@example.org", "bo@example.org")


def a_mail(port: int, encryption: Encryption = Encryption.NONE, **more: str | float | None) -> Mail:
    known = {"user": "", "password": "", "ca_file": None, "timeout_s": 10.0} | more
    return Mail(MailServer("localhost", port, encryption, **known), "monitor@example.org", TO)  # type: ignore[arg-type]


@pytest.fixture
def server() -> Iterator[RealServer]:
    with running_mail_server() as running:
        yield running


def test_a_mail_reaches_all_recipients_with_the_id_of_its_notice(server: RealServer) -> None:
    assert a_mail(server.port).send(NOTICE) == ""
    (mail,) = server.mails
    assert (mail.subject, mail.text.strip(), mail.recipients) == ("gpu1 is down", "gpu1 is down: refused", TO)
    assert mail.message["Message-ID"] == "<1m7noticenotice1@example.org>"
    assert mail.message["Auto-Submitted"] == "auto-generated"


def test_text_in_chinese_html_and_pictures_arrive_unchanged(server: RealServer) -> None:
    pictures = (Picture("a.png", "image/png", b"\x89PNG1"), Picture("a.svg", "image/svg+xml", b"<svg/>"))
    html = '<p>恢复 &lt;b&gt; <img src="cid:a.png"></p>'
    a_mail(server.port).send(Notice("1", NoticeKind.DIGEST, "一周：好", "恢复\n", 0.0, html, pictures))
    (mail,) = server.mails
    assert (mail.subject, mail.text.strip(), mail.html.strip()) == ("一周：好", "恢复", html)
    kinds = {part.get_content_type(): part for part in mail.message.walk()}
    assert kinds["image/png"].get_payload(decode=True) == b"\x89PNG1"
    assert (kinds["image/png"]["Content-ID"], kinds["image/svg+xml"].get_filename()) == ("<a.png>", "a.svg")


@pytest.mark.parametrize("title", ["a\r\nBcc: eve@example.org", "a\nX: y\n\nbody", "a\x00\x1b[2Jb", "x" * 5000])
def test_no_title_adds_a_header(server: RealServer, title: str) -> None:
    notice = Notice("1", NoticeKind.FAILURE, title, "text\n.\nQUIT\n", 0.0)
    a_mail(server.port).send(notice)
    (mail,) = server.mails
    assert (mail.recipients, mail.message["Bcc"], mail.message["X"]) == (TO, None, None)
    assert mail.subject.isprintable()
    assert ".\nQUIT" in mail.text.replace("\r", "")


@pytest.mark.parametrize("address", ["a@b\r\nBcc: c@d", "a", "a@", "@b", "a@b, c@d", "<a@b>", "李@b", "a..b@c", "a@-"])
def test_an_address_that_is_none_is_refused(address: str) -> None:
    with pytest.raises(ValueError, match="expected a mail address"):
        mailbox(address)
    with pytest.raises(ValueError, match="expected a mail address"):
        mail_message(NOTICE, "m@example.org", [address])


@pytest.mark.parametrize("encryption", [Encryption.STARTTLS, Encryption.TLS])
def test_mails_are_encrypted_and_certificates_checked(tmp_path: Path, encryption: Encryption) -> None:
    with running_mail_server(tmp_path, tls=str(encryption)) as server:
        with pytest.raises(NotDelivered, match="certificate that cannot be trusted"):
            a_mail(server.port, encryption).send(NOTICE)
        a_mail(server.port, encryption, ca_file=str(server.certificate)).send(NOTICE)
        assert [mail.has_tls for mail in server.mails] == [True]


def test_a_login_is_used_and_its_password_in_no_message(tmp_path: Path) -> None:
    with running_mail_server(tmp_path, tls="starttls", login=("muster", "hunter22")) as server:
        known = {"ca_file": str(server.certificate), "user": "muster"}
        a_mail(server.port, Encryption.STARTTLS, password="hunter22", **known).send(NOTICE)
        wrong = a_mail(server.port, Encryption.STARTTLS, password="hunter33", **known)
        with pytest.raises(NotDelivered, match="refused the login of muster: 535") as refused:
            wrong.send(NOTICE)
    assert len(server.mails) == 1
    assert "hunter33" not in f"{refused.value}{wrong!r}"


def test_a_server_without_starttls_gets_no_mail(server: RealServer) -> None:
    with pytest.raises(NotDelivered, match="cannot do what is needed"):
        a_mail(server.port, Encryption.STARTTLS).send(NOTICE)
    assert server.mails == []


def test_one_refused_recipient_keeps_the_mail_from_nobody_else(server: RealServer) -> None:
    server.refuse = lambda address: "550 unknown user" if address.startswith("bo@") else None
    assert "bo@example.org (550 unknown user)" in a_mail(server.port).send(NOTICE)
    assert [mail.recipients for mail in server.mails] == [("li@example.org",)]


@pytest.mark.parametrize(
    ("answer", "words"),
    [("451 try again later", "refused the mail: 451 try again later"), ("552 too big", "refused the mail: 552")],
)
def test_a_refused_mail_is_not_delivered(server: RealServer, answer: str, words: str) -> None:
    server.answer = answer
    with pytest.raises(NotDelivered, match=words):
        a_mail(server.port).send(NOTICE)


def test_refusing_everybody_is_not_delivered(server: RealServer) -> None:
    server.refuse = lambda _: "550 no"
    with pytest.raises(NotDelivered, match="refused every recipient: 550 no"):
        a_mail(server.port).send(NOTICE)


def test_a_server_that_hangs_is_given_up_within_the_timeout(server: RealServer) -> None:
    server.pause.set()
    with pytest.raises(NotDelivered, match=r"did not answer within 0\.3 s"):
        a_mail(server.port, timeout_s=0.3).send(NOTICE)


def test_nobody_listens() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        with pytest.raises(NotDelivered, match="refused the connection"):
            a_mail(taken.getsockname()[1]).send(NOTICE)


def test_a_server_that_is_none_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        mail = a_mail(listening.getsockname()[1], timeout_s=0.3)
        with pytest.raises(NotDelivered, match="did not answer"):
            mail.send(NOTICE)


def test_a_mail_server_that_drips_is_given_up() -> None:
    with dripping() as port, pytest.raises(NotDelivered, match=r"has not taken the mail within|did not answer within"):
        a_mail(port, timeout_s=0.2).send(NOTICE)
