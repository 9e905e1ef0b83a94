"""The folder of the task that a command runs in."""

import os
from pathlib import Path

import click

_FOLDER = "MUSTER_TASK_DIR"


def file_in_task(name: str) -> Path:
    """A file by which a task tells the agent something. Refuses to work outside of a task."""
    folder = os.environ.get(_FOLDER)
    if not folder:
        raise click.UsageError(f"this command only works inside a task: {_FOLDER} is not set")
    return Path(folder) / name
