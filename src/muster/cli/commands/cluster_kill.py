"""`muster cluster-kill`: what `paddle cluster_kill` was."""

import click

from muster.cli.bulk_actions import act_on_jobs
from muster.cli.cluster_train.kill_command import job_in
from muster.cli.shared_options import complete_open_jobs, output_option


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("words", metavar="JOB", nargs=-1, required=True, shell_complete=complete_open_jobs)
@output_option("name", "json", "yaml", default="name")
def command(words: tuple[str, ...], output: str) -> None:
    """Stop a job, by its id or name.

    The words of the old schedulers are understood: `qdel JOB` and `deljob JOB`. Only the job in them counts; nothing is
    run by a shell.

    \b
    Examples:
      muster cluster-kill mnist
      muster cluster-kill qdel mnist
    """
    act_on_jobs([job_in(words)], lambda handle: handle.kill(), output)
