"""How much of a job or an event somebody sees: all of it, or an outline without what may quote a log."""

from dataclasses import replace
from enum import StrEnum

from muster.domain.events import Event
from muster.engine.requests.accounts import Principal
from muster.server.access import Action, may


class Sight(StrEnum):
    WHOLE = "whole"
    OUTLINE = "outline"


def sight_of(me: Principal, owner: str | None, *, private: bool) -> Sight | None:
    """Returns None if the job is not there for them."""
    if may(me, Action.JOB_READ, owner, private=private):
        return Sight.WHOLE
    return Sight.OUTLINE if may(me, Action.JOB_SEE, owner, private=private) else None


def seen_event(event: Event, sight: Sight) -> Event | None:
    """The event as it is seen. The reason of a job may quote its log, its tracking URL may let people in, audit events
    say who did what, and why a node cannot be reached reveals how the server logs in."""
    if sight is Sight.WHOLE:
        return event
    match event.kind.partition(".")[0]:
        case "audit":
            return None
        case "node":
            return replace(event, data={**event.data, "message": ""}) if event.kind == "node.unreachable" else event
        case _:
            data = {name: value for name, value in event.data.items() if name != "trackingUrl"}
            return replace(event, actor=None, data={**data, "reason": ""})
