"""The rules of alerts from their file, and the notifiers that it names. A file that is changed counts at once; while it
is wrong, what it said before holds."""

import socket
from pathlib import Path
from threading import Lock

from muster.bootstrap.monitor_ways import KINDS
from muster.bootstrap.tls import Certificate
from muster.domain.alerting.notices import quiet_hours
from muster.domain.errors import Invalid, Problem
from muster.engine.alerting.allowed_addresses import mail_is_allowed, webhook_is_allowed
from muster.lib.mail_addresses import is_mail_address
from muster.notifiers.smtp import Encryption, Mail, MailServer
from muster.ports.alerting import AdminWay, RuleBook
from muster.ports.notifying import Notifier
from muster.settings.alerts_reading import AlertsConfig, read_alerts_config

MAIL = "mail"
_USER_TIMEOUT_S = 10.0
Stamp = tuple[int, int, int] | None


class FileAlertSource:
    """Implements `ports.alerting.AlertSource`. `path` need not exist."""

    def __init__(self, path: Path, certificate: Certificate | None = None) -> None:
        self._path = path
        self._certificate = certificate
        self._lock = Lock()
        self._stamp: Stamp = (-1, -1, -1)
        self._config = AlertsConfig()
        self._book = RuleBook()

    def book(self) -> RuleBook:
        with self._lock:
            stamp = _stamp(self._path)
            if stamp != self._stamp:
                self._read(stamp)
                self._stamp = stamp
            return self._book

    def _read(self, stamp: Stamp) -> None:
        try:
            config = AlertsConfig() if stamp is None else read_alerts_config(self._path)
        except Invalid as error:
            problems = error.problems or (Problem("", error.message, file=str(self._path)),)
            self._book = book_of(self._config, problems)
            return
        self._config = config
        self._book = book_of(config)

    def admin_notifier(self, way: str) -> Notifier | None:
        config = self._config
        if way == MAIL:
            return _mail(config, config.settings.mail_to) if config.settings.mail_to else None
        for place, name in enumerate(_names(config)):
            if name == way:
                notice = config.settings.notices[place]
                return KINDS[notice.kind](config.addresses[place], config.signing[place], notice.timeout)
        return None

    def user_notifier(self, kind: str, address: str) -> Notifier | None:
        config = self._config
        if kind == MAIL:
            is_allowed = config.settings.smtp is not None and mail_is_allowed(self._book, address)
            return _mail(config, (address,)) if is_allowed else None
        if kind not in KINDS or not webhook_is_allowed(self._book, address):
            return None
        return KINDS[kind](address, "", _USER_TIMEOUT_S)

    def certificate_ends_at(self) -> float | None:
        return None if self._certificate is None else self._certificate.ends_at()


def book_of(config: AlertsConfig, problems: tuple[Problem, ...] = ()) -> RuleBook:
    settings = config.settings
    mail = (AdminWay(MAIL, settings.language),) if settings.mail_to else ()
    others = (
        AdminWay(name, notice.language or settings.language, frozenset(notice.severities))
        for name, notice in zip(_names(config), settings.notices, strict=True)
    )
    return RuleBook(
        config.rules,
        (*mail, *others),
        settings.smtp is not None,
        settings.user_mail_domains,
        settings.user_webhook_hosts,
        None if settings.quiet_hours is None else quiet_hours(settings.quiet_hours),
        settings.time_zone,
        settings.interval,
        problems,
    )


def _names(config: AlertsConfig) -> list[str]:
    return [f"notices[{place}] {notice.kind}" for place, notice in enumerate(config.settings.notices)]


def _mail(config: AlertsConfig, recipients: tuple[str, ...]) -> Mail | None:
    smtp = config.settings.smtp
    if smtp is None:
        return None
    server = MailServer(
        smtp.host,
        smtp.used_port,
        Encryption(smtp.tls),
        smtp.user,
        config.smtp_password,
        None if smtp.ca_file is None else str(config.folder / smtp.ca_file.expanduser()),
        smtp.timeout,
    )
    return Mail(server, smtp.from_ or _own_address(), recipients)


def _own_address() -> str:
    address = f"muster@{socket.gethostname()}"
    return address if is_mail_address(address) else "muster@localhost"


def _stamp(path: Path) -> Stamp:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns
