"""`muster monitor`, which replaces this process by the monitor. No code of the monitor is imported here."""

import os
import sys
from pathlib import Path
from typing import NoReturn

import click

_FILE = click.Path(dir_okay=False, exists=True)


@click.group(invoke_without_command=True)
@click.option("--config", type=_FILE, help="The file of the monitor: YAML, or Python with nothing but literals.")
@click.option("--log-level", type=click.Choice(["debug", "info", "warning", "error"]), help="How much to log [info].")
@click.pass_context
def command(context: click.Context, config: str | None, log_level: str | None) -> None:
    """Watch servers from outside, and tell people when one fails, when it recovers, and how the week was.

    It runs apart from the servers, best on another machine. Each server is checked every minute: whether it is alive,
    ready, and able to write. The file names `receivers` and `warning_maillist`; see docs/guides/monitor.md.

    SIGTERM ends it with exit code 0, Ctrl-C with 130. The exit code is 2 if the file is wrong.

    \b
    Examples:
      muster monitor --config monitor.yaml
      muster monitor check --config monitor.yaml --send-test
      muster monitor status --config monitor.yaml
    """
    if context.invoked_subcommand is None:
        if config is None:
            raise click.UsageError("Missing option '--config'.")
        _become("watch", config, ["--log-level", log_level] if log_level else [])
    context.obj = config


@command.command()
@click.option("--config", type=_FILE, help="The file of the monitor.")
@click.option("--send-test", is_flag=True, help="Send a test notice by every way that the file names.")
@click.pass_obj
def check(common: str | None, config: str | None, send_test: bool) -> None:
    """Check the file, and every server once. The exit code is 2 if the file is wrong, 1 if something else is.

    \b
    Examples:
      muster monitor check --config monitor.yaml
      muster monitor check --config monitor.yaml --send-test
    """
    _become("check", _given(config or common), ["--send-test"] if send_test else [])


@command.command()
@click.option("--config", type=_FILE, help="The file of the monitor.")
@click.option("-o", "--output", type=click.Choice(["table", "json"]), default="table", help="The output format.")
@click.pass_obj
def status(common: str | None, config: str | None, output: str) -> None:
    """Show what the monitor found last, and what it could not send. The exit code is 1 if it is not at work.

    \b
    Examples:
      muster monitor status --config monitor.yaml
      muster monitor status --config monitor.yaml -o json
    """
    _become("status", _given(config or common), ["--json"] if output == "json" else [])


def _given(config: str | None) -> str:
    if config is None:
        raise click.UsageError("Missing option '--config'.")
    return config


def _become(act: str, config: str, words: list[str]) -> NoReturn:
    sys.stdout.flush()
    path = str(Path(config).absolute())
    os.execv(  # noqa: S606 - an argument list, no shell
        sys.executable, [sys.executable, "-m", "muster.bootstrap.monitor_process", act, "--config", path, *words]
    )
