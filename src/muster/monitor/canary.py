"""The canary: a small job that is submitted, waited for and deleted on each receiver, at a pace of its own.

It runs beside the rounds, because it may take minutes. Rounds ask for it, and each of its outcomes counts in one round.
"""

import asyncio
import hashlib
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

import structlog

from muster.lib.daemon_threads import on_daemon_thread
from muster.lib.ids import new_id
from muster.monitor.outcomes import Outcome, Reason, ReasonCode, Step
from muster.monitor.receiver_calls import Answer, CallFailed, Calls, Receiver

_log = structlog.get_logger("monitor")
NAME = "muster-monitor-canary"
LABEL = "muster-monitor"
_JOBS = "/api/v1/jobs"
_ENDED = ("Succeeded", "Failed", "Cancelled")
_CALL_S = 30.0
_MOST_WORDS = 300


@dataclass(frozen=True, slots=True)
class CanaryJob:
    every_s: float
    timeout_s: float
    monitor: str
    """Tells this monitor from others. Each removes its own canaries, also those that it left when it was killed."""
    spec: Mapping[str, Any]
    """The spec of the canary job, without name and labels."""

    def mark_on(self, receiver: Receiver) -> str:
        """Receivers on one database have canaries of their own."""
        return hashlib.sha256(f"{self.monitor}\n{receiver.title}".encode()).hexdigest()[:16]


class Canary:
    """The canary job of one receiver. One that has failed is due again at once."""

    def __init__(self, receiver: Receiver, job: CanaryJob) -> None:
        self._receiver = receiver
        self._job = job
        self._asked = asyncio.Event()
        self._due_at: float | None = None
        self._ended: Outcome | None = None

    def ask(self, steady: float) -> None:
        """Begins the next one if it is due and none is at work. To be called while the receiver answers well: one that
        is away would only fail for the reason that its check has told."""
        if not self._asked.is_set() and (self._due_at is None or steady >= self._due_at):
            self._due_at = steady + self._job.every_s
            self._asked.set()

    def taken(self) -> Outcome | None:
        """What was found since the last call."""
        ended, self._ended = self._ended, None
        return ended

    async def run(self) -> None:
        while True:
            await self._asked.wait()
            try:
                self._ended = await on_daemon_thread(lambda: fly(self._receiver, self._job), "canary")
            except Exception:  # whatever went wrong here says nothing against the receiver
                _log.exception("the canary job could not be judged", receiver=self._receiver.title)
                self._ended = Outcome(None, 0.0)
            if self._ended.reason is not None:
                self._due_at = None
            self._asked.clear()


def fly(receiver: Receiver, job: CanaryJob) -> Outcome:
    """Blocks until the job has ended, or its time has passed. It is deleted in any case, now or by the next one."""
    began = time.monotonic()
    reason: Reason | None
    try:
        _sweep(receiver, job)
        reason = _flown(receiver, job)
        _sweep(receiver, job)
    except CallFailed as error:
        reason = error.reason
    return Outcome(reason, time.monotonic() - began)


def _flown(receiver: Receiver, job: CanaryJob) -> Reason | None:
    deadline = time.monotonic() + job.timeout_s
    named = {"name": f"{NAME}-{new_id()}", "labels": {LABEL: job.mark_on(receiver)}}
    submitted = _call(receiver, "POST", _JOBS, {"spec": {**job.spec, **named}})
    state = submitted
    while str(state.get("state")) not in _ENDED:
        left_s = deadline - time.monotonic()
        if left_s <= 0:
            return Reason(
                ReasonCode.CANARY_SLOW,
                Step.CANARY,
                {"seconds": f"{job.timeout_s:g}", "state": str(state.get("state", "?"))},
            )
        wait_s = max(1, min(20, int(left_s)))
        state = _call(receiver, "GET", f"{_JOBS}/{quote(str(submitted.get('id', '')))}/wait?timeout={wait_s}")
    if state["state"] == "Succeeded":
        return None
    words = " ".join(str(state.get("reason") or "-").split())[:_MOST_WORDS]
    return Reason(ReasonCode.CANARY_FAILED, Step.CANARY, {"state": str(state["state"]), "words": words})


def _sweep(receiver: Receiver, job: CanaryJob) -> None:
    """Ends and deletes the canaries of this monitor that are there."""
    query = urlencode({"owner": "me", "label": f"{LABEL}={job.mark_on(receiver)}", "limit": 100})
    for found in _call(receiver, "GET", f"{_JOBS}?{query}").get("items", ()):
        if not str(found.get("name")).startswith(NAME):
            continue
        path = f"{_JOBS}/{quote(str(found['id']))}"
        if found["state"] not in _ENDED:
            _call(receiver, "POST", f"{path}/kill", {"grace": "0s"}, fine=(409,))
            _call(receiver, "GET", f"{path}/wait?timeout=10")
        _call(receiver, "DELETE", path, fine=(404, 409))


def _call(receiver: Receiver, method: str, path: str, body: Any = None, fine: tuple[int, ...] = ()) -> dict[str, Any]:
    calls = Calls(receiver, _CALL_S)
    try:
        answer = calls.call(Step.CANARY, method, path, body)
    finally:
        calls.close()
    if answer.status >= 400 and answer.status not in fine:
        raise CallFailed(Reason(_code(answer), Step.CANARY, _details(answer)))
    return answer.document


def _code(answer: Answer) -> ReasonCode:
    known = {401: ReasonCode.NOT_AUTHENTICATED, 403: ReasonCode.FORBIDDEN, 503: ReasonCode.UNAVAILABLE}
    return known.get(answer.status, ReasonCode.ERROR)


def _details(answer: Answer) -> Mapping[str, str]:
    return {"status": str(answer.status), "words": str(answer.document.get("detail", "nothing"))[:_MOST_WORDS]}
