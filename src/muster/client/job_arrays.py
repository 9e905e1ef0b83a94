"""A job array of Slurm as many jobs: Muster has no arrays, but takes many jobs at once."""

import re
import secrets
from pathlib import PurePath
from typing import Any

from muster.client.errors import BAD_INPUT, MusterError
from muster.client.foreign_files import default_name
from muster.lib.script_texts import is_script

_ARRAY = re.compile(r"^#SBATCH[ \t](?:.*[ \t])?(?:--arr\w*[= \t][ \t]*|-a[= \t]*)([\d,:%-]+)", re.MULTILINE)
_NAME = re.compile(r"^#SBATCH[ \t](?:.*[ \t])?(?:--job\S*?(?:=|[ \t]+)|-J[= \t]*)(?:\"([^\"]*)\"|(\S+))", re.MULTILINE)
_DEPENDS = re.compile(r"^#SBATCH[ \t](?:.*[ \t])?(?:--dep|-d)", re.MULTILINE)
_ITEM = re.compile(r"(\d{1,7})(?:-(\d{1,7})(?::(\d{1,7}))?)?")
_MOST = 1000
"""As many jobs as one request has."""
_TASK = "env.SLURM_ARRAY_TASK_ID"


def elements(text: str, file: PurePath, overrides: dict[str, Any]) -> list[dict[str, Any]]:
    """The changes that make each job of an array from its script; none if it is no array, or if one element was chosen.
    With a limit (`%4`) each job waits for the one that many places before it."""
    found = _ARRAY.search(text) if is_script(text) and _TASK not in overrides else None
    if found is None:
        return []
    listed, _, most = found[1].partition("%")
    if most and _DEPENDS.search(text):
        return []  # the server says that it cannot be done
    numbers = _numbers(listed)
    name = str(overrides.get("name") or _name_in(text) or default_name(text, file) or "array")
    shared: dict[str, Any] = {
        "env.SLURM_ARRAY_JOB_ID": str(1 + secrets.randbelow(1 << 31)),
        "env.SLURM_ARRAY_TASK_COUNT": str(len(numbers)),
        "env.SLURM_ARRAY_TASK_MIN": str(min(numbers, default=0)),
        "env.SLURM_ARRAY_TASK_MAX": str(max(numbers, default=0)),
    }
    limit = int(most) if most.isdigit() and int(most) else len(numbers)
    return [
        {**shared, _TASK: str(number), "name": f"{name}-{number}", **_after(name, numbers[place - limit : place][:1])}
        for place, number in enumerate(numbers)
    ]


def _after(name: str, before: list[int]) -> dict[str, Any]:
    return {"after": [{"job": f"{name}-{number}", "on": "ended"} for number in before]} if before else {}


def _numbers(listed: str) -> list[int]:
    numbers: dict[int, None] = {}
    for item in listed.split(","):
        bounds = _ITEM.fullmatch(item)
        if bounds is None:
            raise MusterError(f"--array={listed} cannot be read", code=BAD_INPUT, hint="such as 0-9, 1,3,5 or 0-20:5%2")
        first, last, step = int(bounds[1]), int(bounds[2] or bounds[1]), int(bounds[3] or 1)
        numbers |= dict.fromkeys(range(first, min(last, first + step * _MOST) + 1, step or 1))
    if len(numbers) > _MOST:
        hint = "--set env.SLURM_ARRAY_TASK_ID=N submits one element"
        raise MusterError(f"--array={listed} has more than {_MOST} elements", code=BAD_INPUT, hint=hint)
    return list(numbers)


def _name_in(text: str) -> str:
    found = _NAME.search(text)
    given = (found[1] or found[2] or "") if found else ""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", given).strip("._-")[:50]
