"""`muster monitor check`: one check of every receiver, and a test notice by every way."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

from muster.lib.ids import new_id
from muster.monitor.couriers import Way, deliver
from muster.monitor.reason_text import reason_text
from muster.monitor.receiver_calls import Receiver
from muster.monitor.receiver_checks import ReceiverChecks
from muster.monitor.stories import TrialStory
from muster.monitor.words import Words
from muster.ports.notifying import NotDelivered


@dataclass(frozen=True, slots=True)
class Report:
    lines: Sequence[str]
    is_well: bool

    def __add__(self, other: "Report") -> "Report":
        return Report([*self.lines, *other.lines], self.is_well and other.is_well)


async def checked(receivers: Sequence[Receiver], timeout_s: float) -> Report:
    words = Words("en")
    outcomes = await ReceiverChecks(receivers, timeout_s).round()
    lines = []
    for receiver in receivers:
        reason = outcomes[receiver.title].reason
        depth = "is alive, ready and writes" if receiver.token else "is alive and ready; writing needs a token"
        lines.append(f"{receiver.title}: {depth if reason is None else reason_text(reason, words)}")
    return Report(lines, all(outcome.reason is None for outcome in outcomes.values()))


async def tested(receivers: Sequence[Receiver], ways: Sequence[Way]) -> Report:
    story = TrialStory(new_id(), time.time(), tuple(receiver.title for receiver in receivers))
    report = Report([], True)
    for way in ways:
        try:
            remark = await deliver(way, story)
        except NotDelivered as error:
            report += Report([f"{way.name}: not sent: {error}"], False)
        else:
            report += Report([f"{way.name}: sent a test notice{f', but {remark}' if remark else ''}"], not remark)
    return report
