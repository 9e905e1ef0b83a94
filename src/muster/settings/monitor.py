"""The settings of `muster monitor`. Secrets are in files or variables of their own, and never in these settings."""

import re
from pathlib import Path
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, field_validator, model_validator
from pydantic.alias_generators import to_camel

from muster.domain.specs import Priority
from muster.lib.mail_addresses import ACCEPTED, is_mail_address
from muster.lib.web_addresses import is_web_address
from muster.wire.spec_schema import Seconds

MOST_RECEIVERS = 500
DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
Language = Literal["en", "zh"]
About = Literal["failure", "recovery", "digest"]
_TIMEOUT_S = 15.0
"""The default, unless the interval is shorter."""
_VARIABLE = r"^[A-Za-z_][A-Za-z0-9_]*$"
_MAIL_PORTS = {"none": 25, "starttls": 587, "tls": 465}
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
Variable = Annotated[str, Field(pattern=_VARIABLE)]


def _address(value: str) -> str:
    """`host:port` is short for http://host:port."""
    text = value if "://" in value else f"http://{value}"
    parts = urlsplit(text)
    try:
        port = parts.port
    except ValueError:
        port = -1
    if (
        parts.scheme not in ("http", "https")
        or not parts.hostname
        or port == -1
        or not text.isprintable()
        or " " in text
    ):
        raise ValueError("must be host:port, or an address such as https://muster.example.org")
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise ValueError("must contain neither an account nor a query; a token goes to tokenFile")
    return text.rstrip("/")


def _web_address(value: str) -> str:
    if not is_web_address(value):
        raise ValueError("must be an address such as https://hooks.example.org/muster")
    return value


def _mail_address(value: str) -> str:
    if not is_mail_address(value):
        raise ValueError(f"must be {ACCEPTED}")
    return value


Address = Annotated[str, AfterValidator(_address)]
WebAddress = Annotated[str, AfterValidator(_web_address)]
MailAddress = Annotated[str, AfterValidator(_mail_address)]


class _Part(BaseModel):
    model_config = ConfigDict(
        extra="forbid", alias_generator=to_camel, populate_by_name=True, frozen=True, hide_input_in_errors=True
    )


class ReceiverSettings(_Part):
    url: Address = Field(description="Its address: host:port, or http(s)://…")
    name: str = Field("", max_length=100, description="What it is called in notices; its address by default.")
    fingerprint: str | None = Field(None, description="Of a certificate of its own, as the server prints it.")
    token_file: Path | None = Field(None, description="The token for this receiver; the common one by default.")

    @property
    def title(self) -> str:
        return self.name or self.url.removeprefix("http://")


def _receiver(value: Any) -> Any:
    return {"url": value} if isinstance(value, str) else value


class SmtpSettings(_Part):
    host: str = Field("localhost", min_length=1, description="The mail server.")
    port: int | None = Field(None, ge=1, le=65535, description="By default 25, 587 with starttls, 465 with tls.")
    tls: Literal["none", "starttls", "tls"] = Field("none", description="How the connection is encrypted.")
    user: str = Field("", description="The account; without it, there is no login.")
    password_file: Path | None = Field(None, description="A file that only the account of the monitor can read.")
    password_env: Variable | None = Field(None, description="The variable with the password, in place of a file.")
    from_: MailAddress | None = Field(None, alias="from", description="The sender; muster-monitor@HOSTNAME by default.")
    ca_file: Path | None = Field(None, description="Certificates of authorities to trust besides those of the system.")
    timeout: Seconds = Field(30.0, gt=0, le=300, description="How long the mail server may take for an answer.")

    @model_validator(mode="after")
    def _has_a_safe_login(self) -> Self:
        given = (self.password_file is not None) + (self.password_env is not None)
        if bool(self.user) != (given == 1):
            raise ValueError("user needs either passwordFile or passwordEnv, and these need user")
        if self.user and self.tls == "none" and self.host not in _LOOPBACK:
            raise ValueError("a login needs tls: starttls or tls, or everybody on the way could read the password")
        return self

    @property
    def used_port(self) -> int:
        return self.port or _MAIL_PORTS[self.tls]


class _WithAddress(_Part):
    url: WebAddress | None = Field(None, description="The address, if it is no secret.")
    url_file: Path | None = Field(None, description="A file with the address, which only the monitor can read.")
    url_env: Variable | None = Field(None, description="The variable with the address, in place of a file.")

    @model_validator(mode="after")
    def _has_one_address(self) -> Self:
        if (self.url is not None) + (self.url_file is not None) + (self.url_env is not None) != 1:
            raise ValueError("needs one of url, urlFile and urlEnv")
        return self


class NoticeSettings(_WithAddress):
    kind: Literal["webhook", "feishu", "dingtalk", "wecom", "slack"] = Field(description="What receives the notice.")
    secret_file: Path | None = Field(None, description="The signing secret, in a file that only the monitor can read.")
    secret_env: Variable | None = Field(None, description="The variable with the signing secret.")
    about: tuple[About, ...] = Field(("failure", "recovery", "digest"), description="Which notices are sent there.")
    language: Language | None = Field(None, description="The language there; the common one by default.")
    timeout: Seconds = Field(10.0, gt=0, le=300, description="How long an answer may take.")

    @model_validator(mode="after")
    def _keeps_its_secrets(self) -> Self:
        if self.kind != "webhook" and self.url is not None:
            raise ValueError(f"the address of a {self.kind} robot is a secret: use urlFile or urlEnv")
        if self.secret_file is not None and self.secret_env is not None:
            raise ValueError("choose either secretFile or secretEnv")
        if self.kind in ("wecom", "slack") and (self.secret_file or self.secret_env):
            raise ValueError(f"{self.kind} has no signing secret")
        return self


def _time_of_day(value: Any) -> Any:
    if not isinstance(value, str) or re.fullmatch(r"([01]?\d|2[0-3]):[0-5]\d", value) is None:
        raise ValueError("must be a time of day such as 09:00")
    return value


def _zone(value: str) -> str:
    try:
        ZoneInfo(value)
    except (KeyError, ValueError, OSError):
        raise ValueError("is not a time zone such as Europe/Berlin, Asia/Shanghai or UTC") from None
    return value


class DigestSettings(_Part):
    day: Literal["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"] = Field(
        "monday", description="The day of the week."
    )
    time: Annotated[str, BeforeValidator(_time_of_day)] = Field("09:00", description="The time of that day.")
    time_zone: Annotated[str, AfterValidator(_zone)] = Field("UTC", description="Where that time holds.")


class DampingSettings(_Part):
    failures: int = Field(2, ge=1, le=100, description="Failed checks in a row after which a receiver counts as down.")
    successes: int = Field(2, ge=1, le=100, description="Good checks in a row after which it counts as up again.")


class CanarySettings(_Part):
    every: Seconds = Field(600.0, ge=10, description="The time between two canary jobs on a receiver.")
    timeout: Seconds = Field(300.0, gt=0, le=86400, description="How long a canary job may take to its end.")
    cluster: str | None = Field(None, description="Where it runs; the receiver's default cluster by default.")
    command: str = Field("true", min_length=1, max_length=1000, description="What it runs.")
    cpu: float = Field(0.1, gt=0, le=64, description="The cores that it asks for.")
    priority: Priority = Field(Priority.NORMAL, description="Its priority.")

    @property
    def spec(self) -> dict[str, Any]:
        """The job without its name."""
        where = {} if self.cluster is None else {"cluster": self.cluster}
        return {"command": self.command, "resources": {"cpu": self.cpu}, "priority": str(self.priority), **where}


class PingSettings(_WithAddress):
    timeout: Seconds = Field(10.0, gt=0, le=300, description="How long an answer may take.")


def _ping(value: Any) -> Any:
    return {"url": value} if isinstance(value, str) else value


def _digest(value: Any) -> Any:
    return None if value is False else {} if value is True else value


def _timeout(given: dict[str, Any]) -> float:
    interval_s: float = given.get("interval", _TIMEOUT_S)
    return min(_TIMEOUT_S, interval_s)


class MonitorSettings(_Part):
    receivers: Annotated[
        tuple[Annotated[ReceiverSettings, BeforeValidator(_receiver)], ...],
        Field(description="The servers to watch, as host:port or with more keys."),
    ]
    warning_maillist: tuple[MailAddress, ...] = Field(
        (), alias="warning_maillist", max_length=1000, description="Who gets mails."
    )
    interval: Seconds = Field(60.0, ge=1, le=86400, description="The time between two checks of each receiver.")
    timeout: Seconds = Field(
        default_factory=_timeout, gt=0, le=3600, description="How long the check of a receiver may take."
    )
    token_file: Path | None = Field(None, description="A token for all receivers; without one, writing is not checked.")
    token_env: Variable | None = Field(None, description="The variable with the token, in place of a file.")
    damping: DampingSettings = Field(DampingSettings(), description="How many checks in a row decide.")
    smtp: SmtpSettings = Field(SmtpSettings(), description="The mail server.")
    notices: tuple[NoticeSettings, ...] = Field((), max_length=100, description="Other ways for notices.")
    digest: Annotated[DigestSettings | None, BeforeValidator(_digest)] = Field(
        DigestSettings(), description="When the weekly digest is sent; false for none."
    )
    canary: CanarySettings | None = Field(
        None, description="A small job that each receiver has to run; off by default."
    )
    ping: Annotated[PingSettings | None, BeforeValidator(_ping)] = Field(
        None, description="An address that is called after each round, and whose owner misses it if the monitor dies."
    )
    state_file: Path | None = Field(None, description="What the monitor remembers; monitor.json in MUSTER_HOME.")
    language: Language = Field("en", description="The language of notices.")

    @field_validator("receivers")
    @classmethod
    def _are_different(cls, receivers: tuple[ReceiverSettings, ...]) -> tuple[ReceiverSettings, ...]:
        if not 1 <= len(receivers) <= MOST_RECEIVERS:
            raise ValueError(f"names {len(receivers)} receivers: expected 1 to {MOST_RECEIVERS}")
        titles = [receiver.title for receiver in receivers]
        twice = sorted({title for title in titles if titles.count(title) > 1})
        if twice:
            raise ValueError(f"{', '.join(twice)} is named more than once")
        return receivers

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.token_file is not None and self.token_env is not None:
            raise ValueError("choose either tokenFile or tokenEnv")
        if self.timeout > self.interval:
            raise ValueError("timeout must not be longer than interval")
        if not self.warning_maillist and not self.notices:
            raise ValueError("nobody would be told: give warning_maillist, notices or both")
        has_token = self.token_file or self.token_env or all(receiver.token_file for receiver in self.receivers)
        if self.canary is not None and not has_token:
            raise ValueError("a canary job needs a token: give tokenFile or tokenEnv")
        return self
