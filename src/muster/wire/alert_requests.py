"""What callers send about alerts and notices."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from muster.domain.alerting.notices import NoticeSettings, NoticeTopic, quiet_hours
from muster.lib.zones import known_zone
from muster.wire.requests import Request
from muster.wire.spec_schema import NAME_PATTERN, Seconds

_PATTERN = r"^[^\x00-\x1f\x7f]{1,200}$"


def _hours(value: str) -> str:
    return str(quiet_hours(value))


def _waiting(value: float) -> float:
    if not 60.0 <= value <= 366 * 86400.0:
        raise ValueError("must be at least 1m, and at most 366d")
    return value


class SilenceIn(Request):
    rule: str = Field("*", pattern=_PATTERN, description="The rule, with * for any characters.")
    subject: str = Field(
        "*", pattern=_PATTERN, description="The node, GPU, cluster or job, or CLUSTER/NAME, with * for any characters."
    )
    for_: Seconds = Field(alias="for", gt=0, le=366 * 86400, description="How long: 2h, 30m.")
    reason: str = Field("", max_length=1000, pattern=r"^[^\x00]*$")


class NoticeSettingsIn(Request):
    on: list[NoticeTopic] = Field(max_length=10, description="What you want to be told.")
    mail: str | None = Field(None, max_length=254, description="A mail address; none if absent.")
    webhook: Literal["webhook", "feishu", "dingtalk", "wecom", "slack"] | None = Field(
        None, description="What receives the notice at the address."
    )
    webhook_secret: str | None = Field(
        None, pattern=NAME_PATTERN, description="The name of your secret with the address."
    )
    waiting: Annotated[Seconds, AfterValidator(_waiting)] = Field(
        1800.0, description="How long a job waits before you are told: at least 1m, at most 366d."
    )
    quiet_hours: Annotated[str, AfterValidator(_hours)] | None = Field(
        None, description="The hours, written as 22:00-07:00."
    )
    time_zone: Annotated[str, AfterValidator(known_zone)] = Field("UTC", max_length=64)
    language: Literal["en", "zh"] = "en"

    def settings(self, user_id: str) -> NoticeSettings:
        return NoticeSettings(
            user_id,
            frozenset(self.on),
            self.mail or "",
            self.webhook or "",
            self.webhook_secret or "",
            self.waiting,
            None if self.quiet_hours is None else quiet_hours(self.quiet_hours),
            self.time_zone,
            self.language,
        )
