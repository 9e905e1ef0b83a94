"""A handle of a submitted job: look at it, wait for it, read its logs, stop it."""

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from muster.client.errors import NOT_FOUND, TIMED_OUT, UNREACHABLE, MusterError
from muster.client.outages import Outage
from muster.client.output_views import OutputsView
from muster.client.sse import read_events
from muster.client.transport import API, Request, Transport, as_json, new_request_key, segment
from muster.client.uploading import Progress
from muster.client.views import EventView, ExplanationView, JobView, TaskView

if TYPE_CHECKING:
    from muster.api.jobs import JobOut
    from muster.client.task_commands import TaskCommand

_WAIT_STEP_S = 30.0
_LONGEST_PAUSE_S = 2.0
_RAW_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class LogChunk:
    """A piece of one task's log: whole lines where possible."""

    task: str
    offset: int
    text: str


class JobHandle:
    """What `Client.submit` and `Client.job` return.

        job = Client().job("mnist")
        print(job.state, job.explain().summary)
        for chunk in job.logs(follow=True):
            print(chunk.text, end="")

    `view` is what was last heard of it; `refresh()` asks again.
    """

    def __init__(self, transport: Transport, view: JobView) -> None:
        self._transport = transport
        self._path = f"{API}/jobs/{segment(view.id)}"
        self.view = view

    @property
    def id(self) -> str:
        return self.view.id

    @property
    def name(self) -> str:
        return self.view.name

    @property
    def state(self) -> str:
        return self.view.state

    def __repr__(self) -> str:
        return f"JobHandle({self.name!r}, id={self.id!r}, state={self.state!r})"

    def twin(self) -> "JobHandle":
        """Returns another handle of the same job for another thread; refreshing one does not change the view of the
        other."""
        return JobHandle(self._transport, self.view)

    def refresh(self) -> Self:
        return self._seen(self._transport.json(Request("GET", self._path)))

    def wait(self, timeout: float | None = None) -> JobView:
        """Returns the job once it has ended, well or not. Raises TimeoutError after `timeout` seconds.

        A server that is restarted meanwhile is waited for.

            if not Client().job("mnist").wait(timeout=3600).ok:
                ...
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        asked = False
        outage = Outage(self._transport, longest_pause_s=_LONGEST_PAUSE_S)
        while True:
            left = _WAIT_STEP_S if deadline is None else min(_WAIT_STEP_S, deadline - time.monotonic())
            if left <= 0 and asked:
                raise TimeoutError(f"job {self.name} is still {self.state} after {timeout:g} s")
            try:
                query = {"timeout": f"{max(left, 0):.3f}"}
                self._seen(
                    self._transport.json(Request("GET", f"{self._path}/wait", query, answer_s=max(left, 0) + 15))
                )
            except MusterError as error:
                if error.code not in (UNREACHABLE, TIMED_OUT):
                    raise
                asked = True
                outage.pause(error)
                continue
            asked = True
            outage.end()
            outage.progress()
            if self.view.ended:
                return self.view

    def tasks(self, attempt: int | str | None = None) -> list[TaskView]:
        """Returns the tasks of the present attempt, of another one, or of all (`attempt="all"`)."""
        answer = self._transport.json(Request("GET", f"{self._path}/tasks", {"attempt": attempt}))
        return [TaskView.of(item) for item in answer["items"]]

    def logs(
        self,
        follow: bool = False,
        *,
        tasks: Sequence[str] = (),
        tail: int | None = None,
        attempt: int | None = None,
    ) -> Iterator[LogChunk]:
        """The logs of all tasks, or of those named (`worker-0`), as they come; never more than a piece in memory.

        With `follow` it goes on until the job has ended, through all its attempts. A dropped connection is
        resumed without a gap.
        """
        query = {"task": tasks, "tail": tail, "attempt": attempt, "follow": True if follow else None}
        for event in read_events(self._transport, Request("GET", f"{self._path}/logs", query), follow=follow):
            if event.kind == "end":
                return
            if event.kind == "gone":
                detail = json.loads(event.data).get("detail")
                raise MusterError(detail or "the log is not there any more", code=NOT_FOUND, status=404)
            if event.kind == "log":
                raw = json.loads(event.data)
                yield LogChunk(raw["task"], raw.get("offset") or 0, raw["text"])

    def raw_log(self, task: str, *, attempt: int | None = None, start: int = 0) -> Iterator[bytes]:
        """Yields one task's log, byte for byte, from `start` on."""
        headers = {"Accept": "application/octet-stream"}
        if start:
            headers["Range"] = f"bytes={start}-"
        query = {"task": task, "attempt": attempt}
        request = Request("GET", f"{self._path}/logs/raw", query, headers=headers)
        connection, response = self._transport.open(request)
        try:
            while chunk := response.read1(_RAW_BYTES):
                yield chunk
        finally:
            connection.close()

    def command(
        self, command: Sequence[str], *, task: str | None = None, terminal: Mapping[str, Any] | None = None
    ) -> "TaskCommand":
        """Runs a command in a running task, the first one if none is named (`worker-0`). `terminal` has `rows`,
        `columns` and `kind`, the value of TERM.

        with Client().job("mnist").command(["nvidia-smi"]) as command:
            command.end_input()
            for piece in command:
                ...
        """
        from muster.client.task_commands import TaskCommand  # WebSockets are no business of `muster get jobs`

        return TaskCommand(self._transport, f"{self._path}/exec", command, task, terminal)

    def outputs(self, attempt: int | None = None) -> OutputsView:
        """Returns the outputs that the server collected from its tasks, of the newest attempt or another."""
        return OutputsView.of(self._transport.json(Request("GET", f"{self._path}/outputs", {"attempt": attempt})))

    def download(
        self, folder: str | Path, *, attempt: int | None = None, progress: Progress | None = None
    ) -> list[Path]:
        """Fetches all outputs into the folder, each checked. What is there already is not fetched again.

        Client().job("mnist").download("results")
        """
        from muster.client.output_transfers import download_all  # digests are no business of `muster get jobs`

        return download_all(self._transport, f"{self._path}/outputs", self.outputs(attempt), Path(folder), progress)

    def events(self, *, follow: bool = False, after: int | None = None) -> Iterator[EventView]:
        return job_events(self._transport, f"{self._path}/events", follow=follow, after=after)

    def explain(self, what_if: Mapping[str, Any] | None = None) -> ExplanationView:
        """Why it waits, runs or failed, in words. `what_if` also answers for a waiting job with such changes:

        job.explain({"gpus": 2, "vc": "vision"}).what_if
        """
        query = {"what_if": [f"{key}={_as_text(value)}" for key, value in (what_if or {}).items()]}
        return ExplanationView.of(self._transport.json(Request("GET", f"{self._path}/explain", query)))

    def spec(self) -> dict[str, Any]:
        """Returns the spec of the job in canonical form."""
        answer = self._transport.json(Request("GET", f"{self._path}/spec"))
        return dict(answer["spec"])

    def kill(self, grace: str | None = None) -> Self:
        """Asks all tasks to stop, then makes them. `grace` is a duration such as `5s`. A job that has
        ended is a MusterError with code `conflict`."""
        return self._act("kill", {"grace": grace} if grace else {})

    def hold(self) -> Self:
        """Keeps a job from running until `resume`; one that runs is stopped first and loses what it has not saved."""
        return self._act("hold", {})

    def resume(self) -> Self:
        return self._act("resume", {})

    def bump(self, priority: str = "urgent") -> Self:
        """Gives a waiting job another priority, as far as its virtual cluster allows."""
        return self._act("bump", {"priority": priority})

    def move(self, to: str) -> Self:
        """Moves a waiting job to another cluster, virtual or physical."""
        return self._act("move", {"to": to})

    def change(self, changes: Mapping[str, Any]) -> Self:
        """Changes the spec of a waiting job: `{"resources.gpu": 2}`. One that runs is a MusterError with code
        `conflict`."""
        return self._act("change", {"set": dict(changes)})

    def retry(self) -> "JobHandle":
        """Submits a new job with the same spec."""
        request = _post(f"{self._path}/retry", {})
        return JobHandle(self._transport, JobView.of(self._transport.json(request)))

    def delete(self) -> None:
        """Deletes an ended job, its logs and its history."""
        self._transport.json(Request("DELETE", self._path))

    def _act(self, verb: str, body: dict[str, Any]) -> Self:
        return self._seen(self._transport.json(_post(f"{self._path}/{verb}", body)))

    def _seen(self, raw: "JobOut") -> Self:
        self.view = JobView.of(raw)
        return self


def job_events(transport: Transport, path: str, *, follow: bool, **query: Any) -> Iterator[EventView]:
    """Yields events of one job or of all, page by page, then, with `follow`, as they happen."""
    if follow:
        request = Request("GET", path, {**query, "follow": True})
        for event in read_events(transport, request, follow=True):
            yield EventView.of(json.loads(event.data))
        return
    while True:
        answer = transport.json(Request("GET", path, query))
        yield from (EventView.of(item) for item in answer["items"])
        if not answer.get("nextCursor"):
            return
        query["after"] = answer["nextCursor"]  # an event's number is its cursor


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _post(path: str, body: dict[str, Any]) -> Request:
    data, headers = as_json(body)
    return Request("POST", path, body=data, headers={**headers, "Idempotency-Key": new_request_key()})
