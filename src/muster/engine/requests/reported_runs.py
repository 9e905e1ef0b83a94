"""Runs of programs outside of Muster, which report here what they were given and what they measure; and what any
program notes about its run.

Such a run is a job of no cluster: it has no attempts, no tasks and no logs, and its state is what its program says.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from muster.domain.errors import Conflict, Invalid, NotFound
from muster.domain.experiments.experiments import EXPERIMENT_LABEL
from muster.domain.failures.faults import Fault, FaultKind
from muster.domain.job_notes import DELETED, LONGEST_KEY, LONGEST_TAG, LONGEST_VALUE, MOST_NOTES, JobNote, NoteKind
from muster.domain.jobs import ELSEWHERE, Cancelled, Failed, Job, Running, Succeeded
from muster.domain.specs import WORKER_ROLE, JobSpec, Role
from muster.engine.context import Context
from muster.engine.requests.reported_room import take_room
from muster.engine.state.event_builders import audit_event
from muster.lib.ids import new_id
from muster.ports.store import Change, JobFilter, RequestKey

MOST_OPEN = 1000
"""How many runs of one owner may be under way."""
MOST_NOTES_BYTES = 1 << 20
"""The most characters in the names and values of all notes of one run."""
OUTSIDE = "it runs outside of Muster, and has not said how it ended"
_COMMAND = ("echo 'this run was made outside of Muster: there is no command to run again' >&2; exit 1",)
_FAILED = Fault(FaultKind.USER, "reported", "Its program says that it has failed")
_NO_NAME = re.compile(r"[^A-Za-z0-9._-]+")
_LONGEST_NAME = 63
_SAID_PARAM = "logged."
"""Begins the tag with the value that a program logs of a param of which its job was given another value."""


@dataclass(frozen=True, slots=True)
class NewRun:
    name: str
    """The name that its program gives it: any text."""
    experiment: str
    started_at: float
    source: str
    """The system whose client reports it."""


async def begin(
    context: Context, owner: str, asked: NewRun, notes: Sequence[tuple[NoteKind, str, str]], key: RequestKey | None
) -> Job:
    """The run of this request, which is made if there is none yet."""
    earlier = await context.store.job_by_request(key) if key else None
    if earlier is not None:
        return earlier
    labels = {EXPERIMENT_LABEL: asked.experiment, "reported-by": asked.source}
    role = Role(WORKER_ROLE, 1, _COMMAND, is_line=True)
    spec = JobSpec(_job_name(asked.name), (role,), cluster=ELSEWHERE, labels=labels)
    at = asked.started_at
    job = Job(new_id(), owner, ELSEWHERE, spec, Running(at), at, started_at=at, running_since=at, reason=OUTSIDE)
    made = [JobNote(job.id, kind, name, value) for kind, name, value in notes]
    _refuse_unfit(made)
    noted = {(one.kind, one.key): one.value for one in made}
    _refuse_large(noted, {})
    await _require_room(context, owner)
    await take_room(context, owner, runs=1, note_bytes=_size(noted))
    audit = audit_event("job.import", owner, context.clock(), job=job, source=asked.source)
    # The job comes first in the same transaction: a change writes its notes before its job.
    change = Change(new_job=job, request_key=key, events=[audit])
    await context.store.apply_all([change, Change(notes=made)] if made else [change])
    return job


async def end(context: Context, job: Job, state: Running | Succeeded | Failed | Cancelled, reason: str) -> Job:
    """Write what the program of a run outside of Muster says of its end, or that it goes on."""
    if isinstance(state, Running):
        await _require_room(context, job.owner)
    ended = None if isinstance(state, Running) else max(job.created_at, state.at)
    ran_s = 0.0 if ended is None else ended - job.created_at
    moved = replace(
        job,
        state=state,
        version=job.version + 1,
        ended_at=ended,
        running_since=job.created_at if ended is None else None,
        ran_s=ran_s,
        run_time_s=ran_s,
        reason=reason,
    )
    await context.store.apply(Change(job=moved))
    return moved


def refuse_outside(job: Job, what: str) -> None:
    """Raises Conflict if the job is a run outside of Muster, of which there is nothing here to do this with."""
    if job.cluster == ELSEWHERE:
        raise Conflict(
            f"{job.name} was made outside of Muster, so that there is nothing here to {what}",
            hint="go to its program where it runs; `muster delete` removes what it has reported",
        )


async def require_active(context: Context, job: Job) -> None:
    """Raises Invalid if the run was deleted, by itself or with its experiment."""
    if job.cluster != ELSEWHERE:
        return
    experiment = await context.store.experiment(job.spec.labels.get(EXPERIMENT_LABEL, ""))
    if experiment is not None and experiment.is_deleted:
        raise Invalid(
            f"run {job.id} takes no reports: its experiment {experiment.name!r} was deleted",
            hint="restore the experiment first",
        )
    if any(one.kind is NoteKind.TAG and one.key == DELETED for one in await context.store.notes([job.id])):
        raise Invalid(f"run {job.id} takes no reports: it was deleted", hint="restore the run first")


def failed(at: float) -> Failed:
    return Failed(at, _FAILED)


async def note(context: Context, job: Job, notes: Sequence[JobNote]) -> None:
    """Store what is noted. A parameter keeps its value while an attempt lasts. One that the job was given keeps it for
    ever, and what its program says instead becomes a tag: a job does not fail because of what it is told."""
    _refuse_unfit(notes)
    known = {(one.kind, one.key): one.value for one in await context.store.notes([job.id])}
    new: dict[tuple[NoteKind, str], JobNote] = {}
    for said in notes:
        is_given = said.kind is NoteKind.PARAM and said.key in job.spec.params
        if is_given and _is_same(_text(job.spec.params[said.key]), said.value):
            continue
        one = replace(said, kind=NoteKind.TAG, key=f"{_SAID_PARAM}{said.key}"[:LONGEST_KEY]) if is_given else said
        at = one.kind, one.key
        before = new[at].value if at in new else known.get(at)
        if before == one.value or (one.kind is NoteKind.PARAM and before is not None and _is_same(before, one.value)):
            continue
        if one.kind is NoteKind.PARAM and before is not None and job.attempt <= 1:
            raise Invalid(
                f"the param {one.key!r} of this run is {_short(before)!r} already, and cannot become"
                f" {_short(one.value)!r}",
                hint="params do not change in a run: log it under another name, or as a tag",
            )
        new[at] = one
    if len(known.keys() | new.keys()) > MOST_NOTES:
        raise Invalid(f"a run has at most {MOST_NOTES} params and tags together")
    values = {at: one.value for at, one in new.items()}
    _refuse_large(values, known)
    if new:
        await take_room(context, job.owner, note_bytes=_size({**known, **values}) - _size(known))
        await context.store.apply(Change(notes=list(new.values())))


async def forget_tag(context: Context, job: Job, name: str) -> None:
    """Raises NotFound if the run has no such tag."""
    known = {(one.kind, one.key): one.value for one in await context.store.notes([job.id])}
    value = known.get((NoteKind.TAG, name))
    if name == DELETED or value is None:
        raise NotFound(f"run {job.id} has no tag {name[:60]!r}")
    await context.store.apply(Change(removed_notes=[JobNote(job.id, NoteKind.TAG, name, "")]))
    context.reported_data.add(job.owner, 0, -_size({(NoteKind.TAG, name): value}))


_Noted = Mapping[tuple[NoteKind, str], str]


def _refuse_large(new: _Noted, known: _Noted) -> None:
    """What becomes shorter is stored in any case."""
    before, after = _size(known), _size({**known, **new})
    if after > max(before, MOST_NOTES_BYTES):
        raise Invalid(
            f"the params and tags of this run would have {after} bytes, {MOST_NOTES_BYTES} are allowed",
            hint="log long texts as files, or delete tags",
        )


def _size(notes: _Noted) -> int:
    return sum(len(key.encode()) + len(value.encode()) for (_, key), value in notes.items())


async def _require_room(context: Context, owner: str) -> None:
    under_way = JobFilter(states=(Running.__name__,), owner=owner, cluster=ELSEWHERE)
    if await context.store.count_jobs(under_way, most=MOST_OPEN) >= MOST_OPEN:
        raise Invalid(
            f"{owner} has {MOST_OPEN} runs outside of Muster that have not ended, and no more are allowed",
            hint="end those that are over: MlflowClient().set_terminated(RUN), or muster delete job/RUN",
        )


def _refuse_unfit(notes: Sequence[JobNote]) -> None:
    for one in notes:
        if not one.key.strip() or len(one.key) > LONGEST_KEY or not one.key.isprintable():
            raise Invalid(
                f"{_short(one.key)!r} cannot be the name of a {one.kind}",
                hint=f"a name has 1 to {LONGEST_KEY} characters that can be printed",
            )
        most = LONGEST_VALUE if one.kind is NoteKind.PARAM else LONGEST_TAG
        if len(one.value) > most:
            raise Invalid(f"the {one.kind} {one.key!r} has {len(one.value)} characters, {most} are allowed")
        if is_unfit(one.value):
            raise Invalid(f"the {one.kind} {one.key!r} has a character that cannot be stored")


def is_unfit(text: str) -> bool:
    """Whether a database cannot store it."""
    return any(character == "\0" or "\ud800" <= character <= "\udfff" for character in text)


def _is_same(one: str, other: str) -> bool:
    """Whether they are the same text, or the same number: 32 is 32.0."""
    if one == other:
        return True
    try:
        return float(one) == float(other)
    except ValueError:
        return False


def _text(value: object) -> str:
    """Writes a value as Python's clients send it."""
    return str(value)


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."


def _job_name(name: str) -> str:
    """The nearest name that a job may have."""
    return _NO_NAME.sub("-", name).strip("-._")[:_LONGEST_NAME].strip("-._") or "run"
