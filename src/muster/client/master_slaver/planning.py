"""Decides what becomes of each task: a queued job, a record in the history, or neither, with the reason."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from muster.client.master_slaver.folder import ENDED, RUNNING, WAITING, MasterFolder, Record
from muster.client.master_slaver.notes import Note
from muster.client.master_slaver.site import site_of
from muster.client.master_slaver.tasks import NOTHING_BEFORE, Untranslatable, check_place, job_name, translated

_STATES: Mapping[str, tuple[str, str, str]] = {
    "accp": ("Succeeded", "user", "it succeeded"),
    "err": ("Failed", "user", "it failed"),
    "term": ("Cancelled", "user", "it was stopped"),
    "offline_error": ("Failed", "platform", "its node was lost"),
}
"""What a state of the old system is in Muster: the state, whose fault a failure is, and the words for it."""
_TIME = "%y%m%d%H%M%S"
_TIME_LENGTH = 12

LogTime = Callable[[str], float | None]
"""When the log of a task was last written, in seconds since 1970; None if the log is not here."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that an import would make. `skipped` are tasks that become nothing, and `notes` fields without
    effect."""

    settings: Mapping[str, Any]
    cluster: Mapping[str, Any]
    queued: tuple[Mapping[str, Any], ...] = ()
    history: tuple[Mapping[str, Any], ...] = ()
    skipped: tuple[Note, ...] = ()
    notes: tuple[Note, ...] = ()

    def document(self) -> dict[str, Any]:
        return {
            "settings": dict(self.settings),
            "cluster": dict(self.cluster),
            "queued": [dict(one) for one in self.queued],
            "history": [dict(one) for one in self.history],
            "skipped": [str(note) for note in self.skipped],
            "notes": [str(note) for note in self.notes],
        }


@dataclass(slots=True)
class _Gathered:
    folder: MasterFolder
    cluster: str
    specs: dict[str, dict[str, Any]] = field(default_factory=dict)
    history: list[dict[str, Any]] = field(default_factory=list)
    skipped: dict[str, Note] = field(default_factory=dict)
    notes: list[Note] = field(default_factory=list)


def plan_import(folder: MasterFolder, cluster: str, log_time: LogTime) -> Plan:
    site = site_of(folder, cluster)
    found = _Gathered(folder, cluster)
    for task in folder.running:
        _skip(found, RUNNING, task, "it runs under the old system; import again when it has ended")
    for task in folder.ended:
        _add_ended(found, task, log_time)
    for task in folder.waiting:
        _add_waiting(found, task)
    _add_predecessors(found)
    return Plan(
        site.settings,
        site.cluster,
        tuple(found.specs.values()),
        tuple(found.history),
        tuple(found.skipped.values()),
        (*site.notes, *found.notes),
    )


def _add_waiting(found: _Gathered, task: Record) -> None:
    try:
        check_place(task, found.folder.nodes)
        made = translated(task, found.folder, found.cluster, WAITING)
    except Untranslatable as why:
        _skip(found, WAITING, task, str(why))
        return
    found.specs[str(task["task_id"])] = made.spec
    found.notes += made.notes


def _add_predecessors(found: _Gathered) -> None:
    """A task waits until its predecessor has ended, however that ends. One that waits for what does not become a job
    here becomes none either, and so do those behind it."""
    ended = {str(task["task_id"]) for task in found.folder.ended}
    is_settled = False
    while not is_settled:
        is_settled = True
        for task in found.folder.waiting:
            task_id = str(task["task_id"])
            previous = task.get("prev")
            if task_id not in found.specs or previous in NOTHING_BEFORE or previous in ended:
                continue
            if previous in found.specs and previous != task_id:
                found.specs[task_id]["after"] = [{"job": job_name(str(previous)), "on": "ended"}]
                continue
            del found.specs[task_id]
            _skip(found, WAITING, task, _missing(found, str(previous)))
            is_settled = False


def _missing(found: _Gathered, previous: str) -> str:
    if previous in found.skipped:
        return f"its predecessor {previous} is not imported"
    return f"its predecessor {previous} is in no list: it would have waited for ever"


def _add_ended(found: _Gathered, task: Record, log_time: LogTime) -> None:
    task_id, state = str(task["task_id"]), str(task.get("state"))
    if state not in _STATES:
        _skip(found, ENDED, task, f"its state is {state!r}, which is none of {', '.join(_STATES)}")
        return
    created = _created(task_id)
    if created is None:
        _skip(found, ENDED, task, "its task_id does not begin with a time")
        return
    try:
        made = translated(task, found.folder, found.cluster, ENDED)
    except Untranslatable as why:
        _skip(found, ENDED, task, str(why))
        return
    written = log_time(task_id)
    by = max(created, written if written is not None else found.folder.ended_by)
    name, fault, words = _STATES[state]
    when = "its log was last written then" if written is not None else "the time of its end is not known"
    record = {
        "id": task_id,
        "spec": made.spec,
        "state": name,
        "createdAt": _iso(created),
        "endedAt": _iso(by),
        "reason": f"{words} under the old system ({state}); {when}",
    }
    found.history.append({**record, "fault": fault} if name == "Failed" else record)


def _created(task_id: str) -> float | None:
    """The id begins with the local time of the master at which the task was added."""
    try:
        return datetime.strptime(task_id[:_TIME_LENGTH], _TIME).astimezone().timestamp()
    except ValueError:
        return None


def _skip(found: _Gathered, file: str, task: Record, why: str) -> None:
    task_id = str(task["task_id"])
    found.skipped[task_id] = Note(f"{file}: {task_id}", why)


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
