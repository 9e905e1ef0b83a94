"""`muster checkpoint-done`, which runs inside a task and needs no server."""

import click

from muster.cli.failures import Failure
from muster.cli.own_task import file_in_task

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
    path = file_in_task(_FILE)
    try:
        path.touch()
    except OSError as error:
        raise Failure(f"cannot write {path}: {error.strerror}") from None
