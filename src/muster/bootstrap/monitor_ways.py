"""Builds the notifiers that the settings of a monitor name."""

import socket
from collections.abc import Callable, Mapping

from muster.lib.mail_addresses import is_mail_address
from muster.monitor.couriers import Way
from muster.monitor.telling import Teller
from muster.notifiers.chat_robots import CHATS, ChatRobot
from muster.notifiers.smtp import Encryption, Mail, MailServer
from muster.notifiers.webhook import Webhook
from muster.ports.notifying import Notifier
from muster.settings.monitor import DigestSettings, Language, NoticeSettings
from muster.settings.monitor_reading import MonitorConfig

MAIL = "mail"
_ALWAYS = frozenset({"test"})
_EVERYTHING = frozenset({"failure", "recovery", "digest"})
Build = Callable[[str, str, float], Notifier]
"""Builds a notifier from an address, a signing secret and a timeout."""


def _chat(kind: str) -> Build:
    return lambda address, secret, timeout_s: ChatRobot(CHATS[kind], address, secret, timeout_s)


KINDS: Mapping[str, Build] = {"webhook": Webhook, **{kind: _chat(kind) for kind in CHATS}}
"""All kinds of ways besides mail."""


def ways_of(config: MonitorConfig) -> tuple[Way, ...]:
    settings = config.settings
    ways = [_mail_way(config)] if settings.warning_maillist else []
    for place, notice in enumerate(settings.notices):
        ways.append(_notice_way(config, place, notice))
    return tuple(ways)


def _mail_way(config: MonitorConfig) -> Way:
    smtp = config.settings.smtp
    server = MailServer(
        smtp.host,
        smtp.used_port,
        Encryption(smtp.tls),
        smtp.user,
        config.secrets.smtp_password,
        None if smtp.ca_file is None else str(config.folder / smtp.ca_file.expanduser()),
        smtp.timeout,
    )
    sender = smtp.from_ or _own_address()
    mail = Mail(server, sender, config.settings.warning_maillist)
    return Way(MAIL, mail, _teller(config, config.settings.language), _EVERYTHING | _ALWAYS)


def _own_address() -> str:
    address = f"muster-monitor@{socket.gethostname()}"
    return address if is_mail_address(address) else "muster-monitor@localhost"


def _notice_way(config: MonitorConfig, place: int, notice: NoticeSettings) -> Way:
    address, secret = config.secrets.addresses[place], config.secrets.signing[place]
    notifier = KINDS[notice.kind](address, secret, notice.timeout)
    teller = _teller(config, notice.language or config.settings.language)
    return Way(f"notices[{place}] {notice.kind}", notifier, teller, frozenset(notice.about) | _ALWAYS)


def _teller(config: MonitorConfig, language: Language) -> Teller:
    digest = config.settings.digest or DigestSettings()
    return Teller(language, digest.time_zone, socket.gethostname())
