"""Keeps collected stacks in a folder beside the job's logs, with which they are removed."""

import asyncio
import json
from dataclasses import asdict
from pathlib import Path

import structlog

from muster.domain.job_stacks import Stacks, TaskStacks
from muster.domain.jobs import Job
from muster.engine.context import Context

_log = structlog.get_logger("engine.stacks")
MOST_KEPT = 10
"""The most that are kept of each job. The oldest goes first."""


async def keep(context: Context, job: Job, stacks: Stacks) -> None:
    """Raises OSError."""
    await asyncio.to_thread(_write, _folder(context, job), stacks)
    context.kept_data.changed(job)


async def kept(context: Context, job: Job) -> list[Stacks]:
    """The newest first."""
    return await asyncio.to_thread(_read, _folder(context, job))


def _folder(context: Context, job: Job) -> Path:
    return context.logs / job.id / "stacks"


def _write(folder: Path, stacks: Stacks) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{round(stacks.at * 1000):015d}.json"
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps(asdict(stacks)), encoding="utf-8")
    partial.replace(path)
    for old in sorted(folder.glob("*.json"))[:-MOST_KEPT]:
        old.unlink(missing_ok=True)


def _read(folder: Path) -> list[Stacks]:
    return [one for path in sorted(folder.glob("*.json"), reverse=True) if (one := _of_file(path)) is not None]


def _of_file(path: Path) -> Stacks | None:
    try:
        plain = json.loads(path.read_text(encoding="utf-8"))
        return Stacks(**{**plain, "tasks": tuple(TaskStacks(**task) for task in plain["tasks"])})
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        _log.warning("kept stacks cannot be read", file=str(path), error=str(error))
        return None
