"""A handle of a submitted job: look at it, wait for it, read its logs, stop it.

What follows a job is imported where it is used: a command that submits one needs none of it.
"""

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Self

from muster.client.errors import NO_BACKEND, NOT_FOUND, TIMED_OUT, UNREACHABLE, MusterError
from muster.client.transport import API, Request, Transport, as_json, new_request_key, segment
from muster.client.uploading import Progress
from muster.client.views import EventView, ExplanationView, JobView, TaskView

if TYPE_CHECKING:
    from muster.api.job_stacks import StacksList, StacksOut
    from muster.api.job_usage import JobUseOut
    from muster.api.jobs import JobOut, SpecOut
    from muster.client.output_views import OutputsView
    from muster.client.task_commands import TaskCommand
    from muster.client.task_connections import TaskConnection

_WAIT_STEP_S = 30.0
_LONGEST_PAUSE_S = 2.0
_RAW_BYTES = 1 << 20
_UPGRADE_REQUIRED = 426


@dataclass(frozen=True, slots=True)
class LogChunk:
    """A piece of one task's log, as it came: it may begin and end in the middle of a line."""

    task: str
    offset: int
    text: str
    time: datetime | None = None
    """When its lines were begun, to about a second, if that was asked for."""


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

    def notify(self, say: Callable[[str], None]) -> None:
        """Tells `say` what a person who waits wants to know, such as a connection that is lost."""
        self._transport.on_notice = say

    def refresh(self) -> Self:
        return self._seen(self._transport.json(Request("GET", self._path)))

    def wait(self, timeout: float | None = None) -> JobView:
        """Returns the job once it has ended, well or not. Raises TimeoutError after `timeout` seconds.

        A server that is restarted meanwhile is waited for.

            if not Client().job("mnist").wait(timeout=3600).ok:
                ...
        """
        from muster.client.outages import Outage

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

    def usage(self) -> "JobUseOut":
        """Returns what the job used, by task, by attempt and in all; so far, if it has not ended."""
        found: JobUseOut = self._transport.json(Request("GET", f"{self._path}/usage"))
        return found

    def collect_stacks(self, worker: str | None = None) -> "StacksOut":
        """Looks where the processes of the running tasks stand, or those of one (`worker-0`), and keeps that."""
        request = Request("POST", f"{self._path}/stacks", {"worker": worker}, repeatable=False)
        found: StacksOut = self._transport.json(request)
        return found

    def kept_stacks(self) -> "list[StacksOut]":
        """Returns the stacks that were collected before, the newest first."""
        found: StacksList = self._transport.json(Request("GET", f"{self._path}/stacks"))
        return found["items"]

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
        since: datetime | None = None,
        until: datetime | None = None,
        timestamps: bool = False,
    ) -> Iterator[LogChunk]:
        """The logs of all tasks, or of those named (`worker-0`), as they come; never more than a piece in memory.

        With `follow` it goes on until the job has ended, through all its attempts. A dropped connection is
        resumed without a gap. Without it, MusterError is raised at the end if a log cannot be read now, because
        its node does not answer. `since` and `until` select lines by the time at which they were written, which
        `timestamps` gives each piece; times without a zone are local.
        """
        from muster.client.sse import read_events

        query = {
            "task": tasks,
            "tail": tail,
            "attempt": attempt,
            "follow": True if follow else None,
            "since": None if since is None else since.astimezone(UTC).isoformat(),
            "until": None if until is None else until.astimezone(UTC).isoformat(),
            "timestamps": True if timestamps else None,
        }
        unread: list[str] = []
        for event in read_events(self._transport, Request("GET", f"{self._path}/logs", query), follow=follow):
            if event.kind == "end":
                break
            if event.kind == "unread":
                told = json.loads(event.data)
                unread.append(f"the log of {told['task']} cannot be read now: {told['detail']}")
                if follow:
                    self._transport.on_notice(unread[-1])
            if event.kind == "gone":
                detail = json.loads(event.data).get("detail")
                raise MusterError(detail or "the log is not there any more", code=NOT_FOUND, status=404)
            if event.kind == "log":
                raw = json.loads(event.data)
                at = datetime.fromisoformat(raw["time"]) if "time" in raw else None
                yield LogChunk(raw["task"], raw.get("offset") or 0, raw["text"], at)
        if unread and not follow:
            raise MusterError("; ".join(unread), code=NO_BACKEND)

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

        wanted = {"command": list(command), "task": task, "terminal": terminal}
        return TaskCommand(self._transport, f"{self._path}/exec", wanted, "the command was killed")

    def attach(
        self, *, task: str | None = None, terminal: Mapping[str, Any] | None = None, tail: int | None = None
    ) -> "TaskCommand":
        """Attaches to a running task whose role has `stdin`, the first one if none is named. What it has printed comes
        first: the last `tail` lines, or all that are kept. The task goes on when the session is closed.

        with Client().job("repl").attach(tail=10) as session:
            session.send(b"print(1)\\n")
            for piece in session:
                ...
        """
        from muster.client.task_commands import TaskCommand  # WebSockets are no business of `muster get jobs`

        wanted = {"task": task, "terminal": terminal, "tail": tail}
        return TaskCommand(self._transport, f"{self._path}/attach", wanted, "the job goes on")

    def page_link(self, port: int, path: str = "/") -> str:
        """Returns a link that opens a page which the first task serves on this port, once, within minutes."""
        body, headers = as_json({"port": port, "path": path})
        request = Request("POST", f"{self._path}/page", body=body, headers=headers, repeatable=False)
        return str(self._transport.json(request)["url"])

    def connection(self, port: int, *, task: str | None = None) -> "TaskConnection":
        """Connects to a port on which a running task listens, the first task if none is named (`worker-0`)."""
        from muster.client.task_connections import TaskConnection  # WebSockets are no business of `muster get jobs`

        return TaskConnection(self._transport, f"{self._path}/port-forward", port, task)

    def require_connections(self) -> None:
        """Raises MusterError if you may not connect to ports of the job's tasks."""
        try:
            self._transport.json(Request("GET", f"{self._path}/port-forward"))
        except MusterError as error:
            if error.status != _UPGRADE_REQUIRED:
                raise

    def copy_from(
        self,
        path: str,
        here: str | Path,
        *,
        task: str | None = None,
        moved: Callable[[int], None] = lambda count: None,
        warn: Callable[[str], None] = lambda text: None,
    ) -> Path:
        """Copies a file or a folder out of a running task, the first one if none is named. Returns where it is now:
        `here`, or in there if that is a folder. `moved` is called with the number of bytes that have come, and `warn`
        with what was left out.

        Client().job("mnist").copy_from("model", ".")
        """
        from muster.client.task_files import fetch  # archives are no business of `muster get jobs`

        return fetch(lambda command: self.command(command, task=task), path, Path(here), moved, warn)

    def print_file(
        self,
        path: str,
        out: IO[bytes],
        *,
        task: str | None = None,
        moved: Callable[[int], None] = lambda count: None,
    ) -> None:
        """Copies the content of a file of a running task to a stream."""
        from muster.client.task_files import fetch_content

        fetch_content(lambda command: self.command(command, task=task), path, out, moved)

    def copy_to(
        self,
        here: str | Path,
        path: str,
        *,
        task: str | None = None,
        moved: Callable[[int], None] = lambda count: None,
    ) -> None:
        """Copies a file or a folder into a running task: to the path, or into it if that is a folder.

        Client().job("mnist").copy_to("config.yaml", ".")
        """
        from muster.client.task_files import store

        store(lambda command: self.command(command, task=task), Path(here), path, moved)

    def copy_output(self, path: str, here: Path, moved: Callable[[int], None]) -> bool:
        """Copies one output, or a folder of outputs, as `copy_from` does. False if there is none."""
        from muster.client.output_transfers import copy_output

        return copy_output(self._transport, f"{self._path}/outputs", self.outputs(), path, here, moved)

    def outputs(self, attempt: int | None = None) -> "OutputsView":
        """Returns the outputs that the server collected from its tasks, of the newest attempt or another."""
        from muster.client.output_views import OutputsView  # outputs are no business of `muster get jobs`

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
        """Returns the spec of the job in canonical form, with all params replaced."""
        return dict(self.specs()["spec"])

    def specs(self) -> "SpecOut":
        """Returns the spec of the job twice: `spec` in canonical form, and `template` as its author would write it,
        with `${params.x}`."""
        answer: SpecOut = self._transport.json(Request("GET", f"{self._path}/spec"))
        return answer

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

    def change(self, changes: Mapping[str, Any] | None = None, *, params: Mapping[str, Any] | None = None) -> Self:
        """Changes the spec of a waiting job: `{"resources.gpu": 2}`, and its params: `params={"lr": 0.5}`. One that
        runs is a MusterError with code `conflict`."""
        return self._act("change", _changes(changes, params))

    def retry(
        self, changes: Mapping[str, Any] | None = None, *, params: Mapping[str, Any] | None = None
    ) -> "JobHandle":
        """Submits an ended job again, as a new job with the same spec, or with changes:

        job.retry({"resources.gpu": 2}, params={"lr": 0.01})
        """
        request = _post(f"{self._path}/retry", _changes(changes, params))
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
        from muster.client.sse import read_events

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


def _changes(changes: Mapping[str, Any] | None, params: Mapping[str, Any] | None) -> dict[str, Any]:
    given = {"set": dict(changes or {}), "params": dict(params or {})}
    return {key: value for key, value in given.items() if value}


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _post(path: str, body: dict[str, Any]) -> Request:
    data, headers = as_json(body)
    return Request("POST", path, body=data, headers={**headers, "Idempotency-Key": new_request_key()})
