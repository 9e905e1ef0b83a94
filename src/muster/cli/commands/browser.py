"""`muster open`."""

from urllib.parse import quote

import click

from muster.cli.session import connect, say
from muster.cli.shared_options import complete_jobs
from muster.cli.terminal import echo


@click.command("open")
@click.argument("job", metavar="[JOB]", required=False, shell_complete=complete_jobs)
@click.option("--port", type=click.IntRange(1, 65535), help="Open the page that the job serves on this port.")
@click.option("--path", default="/", show_default=True, help="With --port: the page at which to begin.")
def command(job: str | None, port: int | None, path: str) -> None:
    """Print a link that logs your browser in, and shows a job or a page that a job serves.

    The link is good once, for a few minutes, and whoever opens it is logged in as you. The browser is not started from
    here, because other users of this machine can see the arguments of its processes. With --port, the link leads to
    what listens on that port of the job's first task, such as TensorBoard, through the server.

    \b
    Examples:
      muster open
      muster open mnist
      muster open mnist --port 6006
    """
    client = connect()
    if port is not None:
        if job is None:
            raise click.UsageError("--port needs a job: muster open JOB --port 6006")
        echo(client.job(job).page_link(port, path if path.startswith("/") else f"/{path}"))
    else:
        target = "" if job is None else f"&/jobs/{quote(client.job(job).id)}"
        echo(client.login_link() + target)
    say("This link is good once. Open it in your browser within five minutes.")
