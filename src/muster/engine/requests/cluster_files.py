"""Cluster files that admins read and edit through the server. A change is tried first, and is in force at once."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from muster.domain.access_names import unknown_names
from muster.domain.audit_kinds import AuditKind
from muster.domain.errors import Invalid, Problem, Unavailable
from muster.engine.context import Context
from muster.engine.state.event_builders import audit_event
from muster.ports.cluster_config import ClusterConfig, ClusterFile, FileTrial
from muster.ports.store import Change

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Trial:
    """What would come of a change."""

    problems: tuple[Problem, ...]
    warnings: tuple[str, ...]
    diff: str


async def listed(context: Context) -> Sequence[ClusterFile]:
    return await _asked(context, lambda source: source.files())


async def found(context: Context, name: str, *, previous: bool) -> ClusterFile:
    return await _asked(context, lambda source: source.file(name, previous=previous))


async def tried(context: Context, name: str, text: str | None) -> Trial:
    """Nothing changes."""
    trial = await _asked(context, lambda source: source.try_file(name, text))
    return await _judged(context, trial)


async def write(
    context: Context, name: str, text: str | None, base: str | None, *, actor: str
) -> tuple[Trial, ClusterFile | None]:
    """Replace a file, or remove it. Raises Invalid if there would be problems, and nothing has changed then."""
    async with context.config.writing:
        trial = await tried(context, name, text)
        if trial.problems:
            raise Invalid(f"{name} was not changed: there would be problems", problems=trial.problems)
        made = await _asked(context, lambda source: source.write_file(name, text, base))
        context.config.reload(context.clusters)
    what: AuditKind = "cluster-file.remove" if text is None else "cluster-file.write"
    event = audit_event(what, actor, context.clock(), name=name, sha256=None if made is None else made.sha256)
    await context.apply(Change(events=[event]))
    return trial, made


async def _judged(context: Context, trial: FileTrial) -> Trial:
    settings = trial.settings
    if settings is None:
        return Trial(trial.problems, (), trial.diff)
    refusals = context.config.refusals(settings, context.clusters)
    warnings = unknown_names(settings.physical, settings.virtual, await context.store.users())
    return Trial((*trial.problems, *refusals), tuple(warnings), trial.diff)


async def _asked(context: Context, ask: Callable[[ClusterConfig], T]) -> T:
    source = context.config.source
    if source is None:
        raise Unavailable("this server has no folder for cluster files")
    return await asyncio.to_thread(ask, source)
