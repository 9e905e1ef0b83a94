"""`muster server logs`."""

import json
from typing import Any

import click

from muster.cli.session import connect, say
from muster.cli.shared_options import output_option
from muster.cli.terminal import echo

_FIRST = ("timestamp", "level", "event")


@click.command()
@click.option("-f", "--follow", "followed", is_flag=True, help="Keep printing what the server logs.")
@click.option("-n", "--tail", type=click.IntRange(0, 10_000), default=100, help="Only the last N entries [100].")
@output_option("table", "json")
def logs(followed: bool, tail: int, output: str) -> None:
    """Print the log of the server itself, for admins. The server must have been started with `--log-file`.

    Each server has a log of its own: a standby answers with its own log too. The first line, on stderr, says whose it
    is; `muster --server ADDRESS server logs` asks another one. `-o json` prints one JSON object per line.

    \b
    Examples:
      muster server logs -n 20
      muster server logs -f
      muster server logs -o json | jq 'select(.level == "error")'
    """
    client = connect()
    page = client.server_log(tail=tail)
    say(f"the log of {page['server']} ({page['role']})")
    for entry in page["items"]:
        _print(entry, output)
    if followed:
        for entry in client.follow_server_log(page["nextCursor"]):
            _print(entry, output)


def _print(entry: dict[str, Any], output: str) -> None:
    if output == "json":
        echo(json.dumps(entry, ensure_ascii=False))
        return
    at, level, event = (str(entry.get(name, "-")) for name in _FIRST)
    more = " ".join(f"{name}={_shown(value)}" for name, value in entry.items() if name not in _FIRST)
    echo(f"{at[:19]}  {level:<7}  {event}  {more}".rstrip())


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
