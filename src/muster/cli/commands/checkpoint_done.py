"""`muster checkpoint-done`, which runs inside a task and needs no server."""

import os
from pathlib import Path

import click

from muster.cli.failures import Failure

_FOLDER = "MUSTER_TASK_DIR"
_FILE = "checkpoint"


@click.command()
def command() -> None:
    """Report that this task has saved a checkpoint.

    Run it inside a task, after the checkpoint has been written. If the job is preempted, it loses only the work after
    its last checkpoint, and jobs that would lose least are preempted first. `touch "$MUSTER_TASK_DIR/checkpoint"` does
    the same in any language.

    \b
    Example:
      python train.py --epochs 1 --save model.pt && muster checkpoint-done
    """
    folder = os.environ.get(_FOLDER)
    if not folder:
        raise click.UsageError(f"this command only works inside a task: {_FOLDER} is not set")
    try:
        (Path(folder) / _FILE).touch()
    except OSError as error:
        raise Failure(f"cannot write {Path(folder) / _FILE}: {error.strerror}") from None
