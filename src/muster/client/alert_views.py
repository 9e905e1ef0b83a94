"""Alerts of rules, silences and notices, as the client shows them."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Self

from muster.client.views import instant

if TYPE_CHECKING:
    from muster.api.alert_rules import RuleAlertOut, SilenceOut
    from muster.api.notices import NoticeOut


@dataclass(frozen=True, slots=True)
class RuleAlertView:
    id: str
    rule: str
    severity: str
    subject: str
    cluster: str
    state: str
    message: str
    since: datetime | None
    resolved_at: datetime | None
    held_until: datetime | None
    """Until when quiet hours hold back what people are told."""
    untold: str
    """Why nobody is told of it; empty if somebody is."""
    raw: Any = field(repr=False)

    @property
    def is_silenced(self) -> bool:
        """Now. One that has ended may have been silenced then."""
        return self.state == "firing" and bool(self.raw.get("silencedBy"))

    @classmethod
    def of(cls, raw: "RuleAlertOut") -> Self:
        silence, inhibitor = raw.get("silencedBy"), raw.get("inhibitedBy")
        untold = f"silenced by {silence}" if silence else f"inhibited by {inhibitor}" if inhibitor else ""
        return cls(
            id=raw["id"],
            rule=raw["rule"],
            severity=raw["severity"],
            subject=raw["subject"]["name"],
            cluster=raw["subject"].get("cluster") or "",
            state=raw["state"],
            message=raw["message"],
            since=instant(raw.get("since")),
            resolved_at=instant(raw.get("resolvedAt")),
            held_until=instant(raw.get("heldUntil")),
            untold=untold,
            raw=raw,
        )


@dataclass(frozen=True, slots=True)
class SilenceView:
    id: str
    rule: str
    subject: str
    reason: str
    by: str
    until: datetime | None
    raw: Any = field(repr=False)

    @classmethod
    def of(cls, raw: "SilenceOut") -> Self:
        until = instant(raw.get("until"))
        return cls(raw["id"], raw["rule"], raw["subject"], raw["reason"], raw["by"], until, raw)


@dataclass(frozen=True, slots=True)
class NoticeView:
    id: str
    way: str
    title: str
    at: datetime | None
    sent_at: datetime | None
    tries: int
    error: str
    raw: Any = field(repr=False)

    @classmethod
    def of(cls, raw: "NoticeOut") -> Self:
        return cls(
            raw["id"],
            raw["way"],
            raw["title"],
            instant(raw.get("at")),
            instant(raw.get("sentAt")),
            int(raw.get("tries") or 0),
            raw.get("error") or "",
            raw,
        )
