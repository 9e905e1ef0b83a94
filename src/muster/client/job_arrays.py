"""A job array of Slurm as many jobs: Muster has no arrays, but takes many jobs at once."""

import os
import re
import shlex
from itertools import pairwise
from pathlib import PurePath
from typing import Any

from muster.client.errors import BAD_INPUT, MusterError
from muster.client.foreign_files import default_name
from muster.lib.script_texts import is_script, option_lines

_OPTIONS = {"array": ("a", "ar"), "job-name": ("J", "j"), "dependency": ("d", "dep")}
"""Their short forms, and the shortest of their long ones that no other option of sbatch has."""
_PARTS = ("hetjob", "packjob")
_ITEM = re.compile(r"\[?(\d{1,18})(?:-(\d{1,18})(?::(\d{1,18}))?)?\]?")
_LONGEST = 8192
"""The rest of a longer line is not read."""
_MOST = 1000
"""The most jobs in one request."""
_TASK = "env.SLURM_ARRAY_TASK_ID"


def elements(text: str, file: PurePath, overrides: dict[str, Any]) -> list[dict[str, Any]]:
    """The changes that make each job of an array from its script; none if it is no array, or if one element was chosen.
    With a limit (`%4`) each job waits for the one that many places before it."""
    given = _given(text) if is_script(text) and _TASK not in overrides else {}
    if not given.get("array"):
        return []
    listed, _, most = given["array"].partition("%")
    if most and "dependency" in given:
        return []  # the server says that it cannot be done
    numbers = _numbers(listed)
    name = str(overrides.get("name") or _plain(given.get("job-name", "")) or default_name(text, file) or "array")
    shared: dict[str, Any] = {
        "env.SLURM_ARRAY_JOB_ID": str(1 + int.from_bytes(os.urandom(4)) // 2),
        "env.SLURM_ARRAY_TASK_COUNT": str(len(numbers)),
        "env.SLURM_ARRAY_TASK_MIN": str(min(numbers)),
        "env.SLURM_ARRAY_TASK_MAX": str(max(numbers)),
        "env.SLURM_ARRAY_TASK_STEP": str(_step(numbers)),
    }
    limit = int(most) if most.isdigit() and int(most) else len(numbers)
    return [
        {**shared, _TASK: str(number), "name": f"{name}-{number}", **_after(name, numbers[place - limit : place][:1])}
        for place, number in enumerate(numbers)
    ]


def _after(name: str, before: list[int]) -> dict[str, Any]:
    return {"after": [{"job": f"{name}-{number}", "on": "ended"} for number in before]} if before else {}


def _given(script: str) -> dict[str, str]:
    """The values of the options that make an array. Of one that is given twice, the last one counts, as for sbatch."""
    given: dict[str, str] = {}
    for line in option_lines(script):
        try:
            words = iter(shlex.split(line.text[:_LONGEST], comments=True))
        except ValueError:
            continue  # the server says why it cannot be read
        for place, word in enumerate(words):
            if line.is_late or (place == 0 and word in _PARTS):
                return given
            name, value = _option(word)
            if name:
                given[name] = next(words, "") if value is None else value
    return given


def _option(word: str) -> tuple[str, str | None]:
    """The name of the option, if it is one of those that make an array, and its value, if it is part of the word."""
    written, has_value, value = word.partition("=")
    for name, (short, shortest) in _OPTIONS.items():
        if written.startswith(f"--{shortest}") and f"--{name}".startswith(written):
            return name, value if has_value else None
        if word.startswith(f"-{short}"):
            return name, word[2:].removeprefix("=") or None
    return "", None


def _numbers(listed: str) -> list[int]:
    numbers: dict[int, None] = {}
    for item in listed.split(","):
        bounds = _ITEM.fullmatch(item)
        if bounds is None:
            raise MusterError(f"--array={listed} cannot be read", code=BAD_INPUT, hint="such as 0-9, 1,3,5 or 0-20:5%2")
        first, last, step = int(bounds[1]), int(bounds[2] or bounds[1]), int(bounds[3] or 1)
        if last < first or not step:
            message = (
                f"--array={listed} cannot be read: {item} {'ends before it begins' if step else 'has a step of 0'}"
            )
            raise MusterError(message, code=BAD_INPUT, hint="such as 0-9, 1,3,5 or 0-20:5%2")
        numbers |= dict.fromkeys(range(first, min(last, first + step * _MOST) + 1, step))
        if len(numbers) > _MOST:
            hint = "--set env.SLURM_ARRAY_TASK_ID=N submits one element"
            raise MusterError(f"--array={listed} has more than {_MOST} elements", code=BAD_INPUT, hint=hint)
    return list(numbers)


def _step(numbers: list[int]) -> int:
    """The distance of the elements from each other, or 1 if it is not always the same."""
    distances = {after - before for before, after in pairwise(sorted(numbers))}
    return distances.pop() if len(distances) == 1 else 1


def _plain(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("._-")[:50]
