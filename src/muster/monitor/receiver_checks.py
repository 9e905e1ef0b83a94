"""The check of a receiver from end to end: it is alive, it is ready, and it writes durably."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import structlog

from muster.lib.daemon_threads import on_daemon_thread
from muster.monitor.outcomes import Outcome, Reason, ReasonCode, Step
from muster.monitor.receiver_calls import Answer, CallFailed, Calls, Receiver

_log = structlog.get_logger("monitor")
WRITE_CHECK = "/api/v1/server/write-check"
_GRACE_S = 0.5
"""What the thread of a check gets beyond its deadline before it is abandoned."""
_MOST_WORDS = 300
_TOO_MANY = 429
_CODES = {
    401: ReasonCode.NOT_AUTHENTICATED,
    403: ReasonCode.FORBIDDEN,
    503: ReasonCode.UNAVAILABLE,
}


@dataclass(slots=True)
class ReceiverChecks:
    """Checks all receivers at the same time. A check that its thread cannot end, as while a name is looked up, is not
    begun again before that has ended, so that threads cannot pile up."""

    receivers: Sequence[Receiver]
    timeout_s: float
    _stuck: dict[str, Reason] = field(default_factory=dict)

    async def round(self) -> dict[str, Outcome]:
        """Takes hardly longer than the timeout, whatever receivers do."""
        found = await asyncio.gather(*(self._check(receiver) for receiver in self.receivers))
        return {receiver.title: outcome for receiver, outcome in zip(self.receivers, found, strict=True)}

    async def _check(self, receiver: Receiver) -> Outcome:
        if receiver.title in self._stuck:
            return Outcome(self._stuck[receiver.title], self.timeout_s)
        calls = Calls(receiver, self.timeout_s)
        checking = asyncio.ensure_future(on_daemon_thread(lambda: check(receiver, calls), f"check {receiver.title}"))
        done, _ = await asyncio.wait([checking], timeout=self.timeout_s + _GRACE_S)
        if done:
            return _result(receiver, checking)
        reason = Reason(ReasonCode.TIMED_OUT, calls.step, {"seconds": f"{self.timeout_s:g}"})
        self._stuck[receiver.title] = reason
        checking.add_done_callback(lambda task: self._unstuck(receiver.title, task))
        calls.abandon()
        return Outcome(reason, self.timeout_s)

    def _unstuck(self, title: str, task: "asyncio.Future[Outcome]") -> None:
        self._stuck.pop(title, None)
        if not task.cancelled():
            task.exception()  # it is known that this check has failed


def _result(receiver: Receiver, checking: "asyncio.Future[Outcome]") -> Outcome:
    try:
        return checking.result()
    except Exception as error:  # a mistake of ours with one receiver must not keep all others from being checked
        _log.exception("a check could not be made", receiver=receiver.title)
        return Outcome(Reason(ReasonCode.ERROR, Step.CONNECT, {"status": "?", "words": type(error).__name__}), 0.0)


def check(receiver: Receiver, calls: Calls) -> Outcome:
    """Blocks until the deadline of `calls` at most, but for the look-up of a name."""
    began = time.monotonic()
    reason: Reason | None = None
    installation = ""
    try:
        reason = _problem(Step.ALIVE, calls.call(Step.ALIVE, "GET", "/healthz"))
        if reason is None:
            reason = _problem(Step.READY, calls.call(Step.READY, "GET", "/readyz"))
        if reason is None and receiver.token:
            answer = calls.call(Step.WRITE, "POST", WRITE_CHECK)
            reason = _problem(Step.WRITE, answer)
            installation = str(answer.document.get("installation", ""))
    except CallFailed as error:
        reason = error.reason
    finally:
        calls.close()
    return Outcome(reason, time.monotonic() - began, installation)


def _problem(step: Step, answer: Answer) -> Reason | None:
    document = answer.document
    if answer.status == 200:
        is_known = answer.body.strip() == b"ok" if step is Step.ALIVE else bool(document)
        return None if is_known else Reason(ReasonCode.NOT_MUSTER, step, {"words": _words(answer)})
    if answer.status == _TOO_MANY and document.get("code"):
        return None  # it refuses only to be asked so often by this address or user, and says so in good health
    if document.get("code") == "storage-full":
        return Reason(ReasonCode.STORAGE_FULL, step, {"words": _words(answer)})
    if step is Step.READY and document.get("ready") is False:
        return Reason(ReasonCode.NOT_READY, step)
    code = _CODES.get(answer.status, ReasonCode.ERROR if document.get("code") else ReasonCode.NOT_MUSTER)
    return Reason(code, step, {"status": str(answer.status), "words": _words(answer)})


def _words(answer: Answer) -> str:
    """What the receiver says, on one line."""
    said = answer.document.get("detail") or answer.body.decode("utf-8", "replace")
    line = "".join(letter if letter.isprintable() else " " for letter in " ".join(str(said).split()))
    return line[:_MOST_WORDS]
