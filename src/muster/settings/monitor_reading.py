"""Reads the file of `muster monitor`: YAML, or Python as the seed of such platforms has it, which is never executed."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from pydantic import BaseModel

from muster.domain.errors import Invalid
from muster.settings.monitor import (
    CanarySettings,
    DampingSettings,
    DigestSettings,
    MonitorSettings,
    NoticeSettings,
    PingSettings,
    ReceiverSettings,
    SmtpSettings,
)
from muster.settings.secret_reading import SecretReader
from muster.settings.server import home_folder
from muster.settings.settings_files import read_settings_file, validated

_PARTS: Mapping[str, type[BaseModel]] = {
    "receivers": ReceiverSettings,
    "smtp": SmtpSettings,
    "notices": NoticeSettings,
    "digest": DigestSettings,
    "damping": DampingSettings,
    "canary": CanarySettings,
    "ping": PingSettings,
}


@dataclass(frozen=True, slots=True)
class MonitorSecrets:
    """What the settings only name: secrets by the path of their setting. Not part of any listing."""

    tokens: tuple[str, ...] = field(repr=False)
    """The token of each receiver, in order. Empty for one that has none."""
    smtp_password: str = field(repr=False)
    addresses: tuple[str, ...] = field(repr=False)
    """The address of each of `notices`."""
    signing: tuple[str, ...] = field(repr=False)
    ping: str = field(repr=False)

    @property
    def all(self) -> tuple[str, ...]:
        return tuple(filter(None, (*self.tokens, self.smtp_password, *self.addresses, *self.signing, self.ping)))


@dataclass(frozen=True, slots=True)
class MonitorConfig:
    """`folder` is that of the file, where relative paths start."""

    settings: MonitorSettings
    secrets: MonitorSecrets
    folder: Path
    state_file: Path


def read_monitor_config(path: Path, environ: Mapping[str, str] = os.environ) -> MonitorConfig:
    """Raises Invalid with all problems, each with its path and line. Relative paths start at the file."""
    document = read_settings_file(path, "receivers and warning_maillist")
    settings = validated(path, document, MonitorSettings, _PARTS, "the settings of the monitor")
    reader = SecretReader(path.absolute().parent, environ)
    secrets = _secrets(reader, settings)
    if reader.problems:
        problems = tuple(replace(one, line=document.line(one.path), file=str(path)) for one in reader.problems)
        raise Invalid(f"secrets that {path} names cannot be used", problems=problems)
    state = settings.state_file or home_folder(environ) / "monitor.json"
    folder = path.absolute().parent
    return MonitorConfig(settings, secrets, folder, folder / state.expanduser())


def _secrets(reader: SecretReader, settings: MonitorSettings) -> MonitorSecrets:
    common = reader.token("token", settings.token_file, settings.token_env)
    tokens = [
        reader.token(f"receivers[{place}].token", receiver.token_file, None) if receiver.token_file else common
        for place, receiver in enumerate(settings.receivers)
    ]
    smtp = settings.smtp
    password = reader.one("smtp.password", "password", smtp.password_file, smtp.password_env)
    reader.authorities("smtp.caFile", smtp.ca_file)
    addresses, signing = [], []
    for place, way in enumerate(settings.notices):
        at = f"notices[{place}]"
        addresses.append(way.url or reader.address(f"{at}.url", way.url_file, way.url_env))
        signing.append(reader.one(f"{at}.secret", "signing secret", way.secret_file, way.secret_env))
    ping = settings.ping
    called = "" if ping is None else ping.url or reader.address("ping.url", ping.url_file, ping.url_env)
    return MonitorSecrets(tuple(tokens), password, tuple(addresses), tuple(signing), called)
