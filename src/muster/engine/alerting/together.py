"""Puts notices that wait for the same people into one: when a rack fails, or a sweep, or after quiet hours. Pure."""

from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256

from muster.domain.alerting.notices import QueuedNotice

LEAST = 5
"""So many are put into one; fewer go out one by one."""
MOST = 50
_MARK = "[Muster] "
_FOR_PROGRAMS = "webhook"


def parcel(waiting: Sequence[QueuedNotice]) -> Sequence[QueuedNotice]:
    """What of a lane goes out next. A webhook is read by programs, which want each notice with its facts."""
    is_for_programs = waiting[0].way.endswith(_FOR_PROGRAMS)
    return waiting[:1] if is_for_programs or len(waiting) < LEAST else waiting[:MOST]


def together(notices: Sequence[QueuedNotice]) -> QueuedNotice:
    """One notice that says what all say: first the titles, because a chat may cut what is long. It has the same id
    whenever the same notices are put together."""
    first = notices[0]
    if len(notices) == 1:
        return first
    titles = [one.title.removeprefix(_MARK) for one in notices]
    ids = "\n".join(one.id for one in notices)
    listed = "\n".join(f"- {title}" for title in titles)
    texts = [f"{title}\n\n{one.text}" for title, one in zip(titles, notices, strict=True)]
    return replace(
        first,
        id=f"notices-{sha256(ids.encode()).hexdigest()[:16]}",
        title=f"{_MARK}({len(notices)}) {titles[0]}",
        text="\n\n".join([listed, *texts]),
        data={},
    )
