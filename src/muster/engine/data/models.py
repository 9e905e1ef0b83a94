"""Models: they are copied from the outputs of a job when they are registered, so that nothing changes them later.

The files are put in place before the version is stored: whoever finds the version finds its files. What a server that
died left of a copy, or of a version that was removed, is removed when it starts.
"""

import asyncio
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

from muster.domain.errors import Conflict, Invalid, NotFound, Problem, TooLarge
from muster.domain.experiments.models import MAX_FILES, NAME, Model, ModelFile, lineage_of
from muster.domain.jobs import Job
from muster.engine.context import Context
from muster.engine.data import outputs
from muster.engine.state.event_builders import audit_event
from muster.lib.ids import new_id
from muster.lib.quantities import about_bytes
from muster.ports.store import Change

_TRIES = 5
_COPY_BYTES = 1 << 20
_PARTIAL = ".partial"


@dataclass(frozen=True, slots=True)
class Registration:
    name: str
    path: str
    description: str = ""
    attempt: int | None = None


async def register(context: Context, job: Job, given: Registration, actor: str) -> tuple[Model, bool]:
    """Keep outputs of the job as a new version, which belongs to the owner of the job. Returns it and whether it is
    new: the same files of the same job as in the newest version change nothing."""
    if not NAME.fullmatch(given.name):
        hint = "letters, digits, '.', '_' and '-', at most 63, a letter or digit at both ends"
        raise Invalid("the model has 1 problem", problems=(Problem("name", f"is {given.name!r}", hint),))
    attempt, chosen = await _chosen(context, job, given)
    await _require_room(context, job.owner, sum(file.size for file, _ in chosen))
    lineage = lineage_of(job, attempt, given.path)
    files = tuple(file for file, _ in chosen)
    model = Model(new_id(), job.owner, given.name, 0, context.clock(), given.description, files, lineage)
    newest = await context.store.model(job.owner, given.name, None)
    if newest is not None and _is_same(newest, model):
        return newest, False
    await asyncio.to_thread(_copy, chosen, context.models / model.id)
    try:
        return await _stored(context, model, actor), True
    except BaseException:
        await asyncio.to_thread(shutil.rmtree, context.models / model.id, ignore_errors=True)
        raise


async def file_of(context: Context, model: Model, path: str) -> Path:
    """The place of a file of the model. Only paths that the model names lead anywhere."""
    if not any(file.path == path for file in model.files):
        raise NotFound(f"{model.name}@{model.version} has no file {path!r}")
    return context.models / model.id / path


async def remove(context: Context, versions: Sequence[Model], actor: str) -> None:
    """Remove versions of one model with their files. Nobody finds a version whose files are gone."""
    now = context.clock()
    events = [audit_event("model.remove", actor, now, model=one.name, version=one.version) for one in versions]
    ids = [one.id for one in versions]
    await context.apply(Change(removed_models=ids, events=events))
    await asyncio.to_thread(_remove_folders, context.models, ids)


async def remove_unfinished(context: Context) -> None:
    """Remove what is left of copies and removals whose server has died."""
    removed = await context.store.removed_models()
    await asyncio.to_thread(_remove_unfinished, context.models)
    await asyncio.to_thread(_remove_folders, context.models, removed)


async def _chosen(context: Context, job: Job, given: Registration) -> tuple[int, list[tuple[ModelFile, Path]]]:
    """The files of the outputs that are meant, each with its path in the model. Paths come from the records of what was
    collected, so that none leads elsewhere."""
    found = await outputs.listing(context, job, given.attempt)
    path = given.path.strip("/")
    if path in ("", "."):
        chosen = [(one.path, one) for one in found.items]
    else:
        chosen = [(path.rpartition("/")[2], one) for one in found.items if one.path == path]
        chosen += [(one.path[len(path) + 1 :], one) for one in found.items if one.path.startswith(f"{path}/")]
    if not chosen:
        hint = f"`muster outputs {job.name}` lists them" if found.items else "`outputs` in its spec says what is kept"
        later = "" if found.complete else "; it may be collected when the job has ended"
        missing = f"has no output {path!r}" if path else "has no outputs"
        raise NotFound(f"job {job.name} {missing}{later}", hint=hint)
    if len(chosen) > MAX_FILES:
        raise TooLarge(f"{len(chosen)} files are too many for a model", hint=f"at most {MAX_FILES}; pack them")
    return found.attempt, [(ModelFile(name, one.file.size, one.file.sha256), one.place) for name, one in chosen]


async def _require_room(context: Context, owner: str, size: int) -> None:
    used, most = await context.store.model_bytes(owner), context.limits.output_bytes_per_user
    if used + size > most:
        raise TooLarge(
            f"the models of {owner} would have {about_bytes(used + size)}, {about_bytes(most)} are allowed",
            hint="register less, or ask an admin",
        )


async def _stored(context: Context, model: Model, actor: str) -> Model:
    for _ in range(_TRIES):
        last = await context.store.last_model_version(model.owner, model.name)
        made = replace(model, version=last + 1)
        now, of = context.clock(), made.lineage.job_id
        event = audit_event("model.register", actor, now, model=made.name, version=made.version, of=of)
        try:
            await context.apply(Change(new_model=made, events=[event]))
        except Conflict:
            continue
        return made
    raise Conflict(f"{model.name} is being registered by several at once; try again")


def _is_same(one: Model, other: Model) -> bool:
    return (one.lineage, one.files, one.description) == (other.lineage, other.files, other.description)


def _copy(files: Sequence[tuple[ModelFile, Path]], folder: Path) -> None:
    partial = folder.with_name(folder.name + _PARTIAL)
    try:
        for file, place in files:
            target = partial / file.path
            target.parent.mkdir(parents=True, exist_ok=True)
            _copy_file(file, place, target)
        partial.replace(folder)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise


def _copy_file(file: ModelFile, place: Path, target: Path) -> None:
    """A link is not followed: what was collected are plain files."""
    digest = sha256()
    try:
        source = os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        raise NotFound(f"the output {file.path!r} cannot be read any more: {error.strerror}") from error
    with os.fdopen(source, "rb") as read, target.open("xb") as written:
        while piece := read.read(_COPY_BYTES):
            digest.update(piece)
            written.write(piece)
        written.flush()
        os.fsync(written.fileno())
    if digest.hexdigest() != file.sha256:
        raise Conflict(f"the output {file.path!r} is not what was collected: its digest differs")


def _remove_unfinished(folder: Path) -> None:
    for partial in folder.glob(f"*{_PARTIAL}"):
        shutil.rmtree(partial, ignore_errors=True)


def _remove_folders(folder: Path, ids: Sequence[str]) -> None:
    for one in ids:
        shutil.rmtree(folder / one, ignore_errors=True)
