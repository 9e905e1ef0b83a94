"""`muster logserver`, which replaces this process by the log server. None of its code is imported here."""

import os
import sys
from pathlib import Path
from typing import NoReturn

import click


@click.command()
@click.option(
    "-p",
    "--port",
    type=click.IntRange(0, 65535),
    default=9900,
    show_default=True,
    help="The port to listen on; 0 takes a free one.",
)
@click.option(
    "-f",
    "--log-file",
    "--log_file",
    "log_file",
    type=click.Path(dir_okay=False),
    required=True,
    help="The file to write records to. The index and full files are beside it.",
)
@click.option("--host", help="The address to listen on [127.0.0.1]; 0.0.0.0 lets others in, and needs a token.")
@click.option(
    "--token-file",
    type=click.Path(dir_okay=False, exists=True),
    help="A file (0600) with the token that servers must send [MUSTER_LOGSERVER_TOKEN].",
)
@click.option("--notify", metavar="URL", help="Post each record to this address too [MUSTER_LOGSERVER_NOTIFY].")
@click.option(
    "--max-size", metavar="SIZE", help="How large the file may become before another is begun, at least 1Ki [256Mi]."
)
@click.option("--keep", type=click.IntRange(1), metavar="COUNT", help="How many full files are kept [all].")
@click.option(
    "--tls-cert", type=click.Path(dir_okay=False, exists=True), help="Serve HTTPS with this certificate (PEM)."
)
@click.option("--tls-key", type=click.Path(dir_okay=False, exists=True), help="The key of the certificate (PEM).")
@click.option("--log-level", type=click.Choice(["debug", "info", "warning", "error"]), help="How much to log [info].")
def command(log_file: str, **given: str | int | None) -> NoReturn:
    """Collect the records of all jobs, from any number of servers, in one file.

    A server sends its records here if its settings have `logServer: HOST:PORT`. Each record is stored once, as a line
    of JSON, and acknowledged when it is on the disk. `muster history list --all` searches them.

    \b
    Examples:
      muster logserver -p 9900 -f /var/lib/muster/jobs.log
      muster logserver --host 0.0.0.0 --token-file /etc/muster/log-token -f /var/lib/muster/jobs.log
      muster logserver -f jobs.log --max-size 1Gi --keep 20 --notify http://portal.example.org/records
    """
    words = [sys.executable, "-m", "muster.logserver", "--log-file", str(Path(log_file).absolute())]
    for name, value in given.items():
        if value is not None:
            words += ["--" + name.replace("_", "-"), str(value)]
    sys.stdout.flush()
    os.execv(sys.executable, words)  # noqa: S606 - an argument list, no shell
