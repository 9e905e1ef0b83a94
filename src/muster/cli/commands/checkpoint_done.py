"""`muster checkpoint-done`: runs inside a task, and needs no server."""

import os
from pathlib import Path

import click

from muster.cli.failures import Failure

_FOLDER = "MUSTER_TASK_DIR"
_FILE = "checkpoint"


@click.command()
def command() -> None:
    """Say that the work of this task up to now is safe.

    Run it inside a task, after a checkpoint has been written. A job that has to make way for another loses only what
    came after, and those that would lose least are chosen first. `touch "$MUSTER_TASK_DIR/checkpoint"` does the same,
    in any language.

    \b
    Example:
      python train.py --epochs 1 --save model.pt && muster checkpoint-done
    """
    folder = os.environ.get(_FOLDER)
    if not folder:
        raise click.UsageError(f"this is for programs inside a task: {_FOLDER} is not set here")
    try:
        (Path(folder) / _FILE).touch()
    except OSError as error:
        raise Failure(f"cannot write {Path(folder) / _FILE}: {error.strerror}") from None
