"""`muster tracking-url`, which runs inside a task and needs no server."""

import click

from muster.cli.failures import Failure
from muster.cli.own_task import file_in_task
from muster.domain.tracking import LONGEST, is_followable

_FILE = "tracking-url"


@click.command()
@click.argument("url", metavar="URL")
def command(url: str) -> None:
    """Set the address at which this job can be followed.

    Run it inside a task. `muster describe` and the log server show the address instead of the job's own page, until the
    attempt ends and another one begins. If several tasks set one, that of the first task counts.
    `echo URL > "$MUSTER_TASK_DIR/tracking-url"` does the same in any language.

    \b
    Example:
      muster tracking-url http://wandb.example.org/runs/42 && python train.py
    """
    if not is_followable(url):
        raise click.BadParameter(
            f"{url!r} is not an address such as https://host/path, of at most {LONGEST} characters", param_hint="URL"
        )
    path = file_in_task(_FILE)
    try:
        # Written in place and at once: the task may not be allowed to make other files here.
        with path.open("w", encoding="ascii") as file:
            file.write(f"{url}\n")
    except OSError as error:
        raise Failure(f"cannot write {path}: {error.strerror}") from None
