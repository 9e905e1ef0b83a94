"""The outputs of Slurm's commands that the tests here read."""

import json
from functools import cache
from pathlib import Path

HERE = Path(__file__).parent
RECORDED = sorted(path.name for path in (HERE / "recorded").iterdir())
"""The releases whose real outputs are there."""


def recorded(release: str, name: str) -> str:
    return (HERE / "recorded" / release / name).read_text(encoding="utf-8")


def documented(name: str) -> str:
    return (HERE / "documented" / name).read_text(encoding="utf-8")


@cache
def jobs(release: str) -> dict[str, int]:
    """The numbers of the recorded jobs, by what is special about each."""
    return {name: int(number) for name, number in json.loads(recorded(release, "jobs.json")).items()}
