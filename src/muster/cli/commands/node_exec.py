"""`muster node exec`."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any

import click

from muster.cli.failures import Failure
from muster.cli.remote_command import RemoteCommand, remote_words
from muster.cli.session import connect, say
from muster.cli.shared_options import complete_nodes, output_option
from muster.cli.tables.output import print_document

if TYPE_CHECKING:
    from muster.client.node_exec import CommandPiece, CommandResult

_TIMED_OUT = 124
"""The exit code of timeout(1)."""


@dataclass(slots=True)
class _NodeResult:
    node: str
    exit_code: int | None = None
    timed_out: bool = False
    error: str | None = None
    said: dict[str, bytes] = field(default_factory=lambda: {"stdout": b"", "stderr": b""})

    @property
    def succeeded(self) -> bool:
        return self.exit_code == 0 and self.error is None

    def document(self) -> dict[str, Any]:
        end = {"exitCode": self.exit_code, "timedOut": self.timed_out, "error": self.error}
        return {
            "node": self.node,
            **end,
            **{stream: data.decode("utf-8", "replace") for stream, data in self.said.items()},
        }


@click.command("exec", cls=RemoteCommand)
@click.argument("names", metavar="NODE...", nargs=-1, required=True, shell_complete=complete_nodes)
@click.option(
    "--timeout", default="10m", show_default=True, metavar="DURATION", help="Kill the command after this time."
)
@output_option("table", "json", "yaml")
@click.pass_context
def command(ctx: click.Context, names: tuple[str, ...], timeout: str, output: str) -> None:
    """Run a command on nodes. Admins only. It is not a job: it starts at once, and Ctrl-C kills it.

    It runs in the home folder of the node's account, with a clean environment and without input. It is not run by a
    shell: for pipes and variables write `sh -c '...'`. With several nodes, each line starts with the name of its node.

    On one node, the exit code is that of the command (124 after --timeout). On several, it is 0 if the command
    succeeded on all of them, else 1; `-o json` shows each exit code. Output is printed unchanged. Audit events record
    who ran what.

    \b
    Examples:
      muster node exec gpu7 -- nvidia-smi
      muster node exec gpu1 gpu2 gpu3 -- df -h /data
      muster node exec gpu7 -o json -- sh -c 'uptime; who'
    """
    words = remote_words(ctx)
    if not words:
        raise click.UsageError("write the command after `--`: muster node exec gpu7 -- uptime")
    client, lock = connect(), Lock()
    results = [_NodeResult(name) for name in names]
    width = max(map(len, names)) if len(names) > 1 else 0

    def run(ran: _NodeResult) -> None:
        pieces = client.run_on_node(ran.node, words, timeout=timeout)
        _follow(pieces, ran, _Printer(ran.node, width, lock) if output == "table" else None)

    # Not a thread pool, which would wait for its threads: Ctrl-C must close the connections to kill the commands.
    threads = [Thread(target=run, args=(ran,), daemon=True) for ran in results]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if output != "table":
        documents = [ran.document() for ran in results]
        print_document(documents[0] if len(names) == 1 else {"items": documents}, output)
    _exit_with_result(results)


def _follow(pieces: "Iterator[CommandPiece | CommandResult]", ran: _NodeResult, printer: "_Printer | None") -> None:
    from muster.client.errors import MusterError
    from muster.client.node_exec import CommandResult

    try:
        for piece in pieces:
            if isinstance(piece, CommandResult):
                ran.exit_code, ran.timed_out = piece.exit_code, piece.timed_out
            elif printer is None:
                ran.said[piece.stream] += piece.data
            else:
                printer.add(piece.stream, piece.data)
    except MusterError as error:
        ran.error = error.message
    finally:
        if printer is not None:
            printer.finish()


def _exit_with_result(results: Sequence[_NodeResult]) -> None:
    for ran in results:
        if ran.error is not None:
            say(f"{ran.node}: {ran.error}")
        elif ran.timed_out:
            say(f"{ran.node}: the command took too long and was killed")
        elif ran.exit_code != 0:
            say(f"{ran.node}: the command exited with code {ran.exit_code}")
    bad = [ran for ran in results if not ran.succeeded]
    if not bad:
        return
    if len(results) > 1:
        raise Failure(f"the command failed on {len(bad)} of {len(results)} nodes")
    Failure("it failed").show()
    click.get_current_context().exit(_TIMED_OUT if bad[0].timed_out else bad[0].exit_code or 1)


class _Printer:
    """Prints the output of a single node unchanged, and that of several nodes in whole lines after the node's name."""

    def __init__(self, node: str, width: int, lock: Lock) -> None:
        self._prefix = f"{node:<{width}} | ".encode() if width else b""
        self._lock = lock
        self._unfinished = {"stdout": b"", "stderr": b""}

    def add(self, stream: str, data: bytes) -> None:
        if not self._prefix:
            self._write(stream, data)
            return
        *lines, self._unfinished[stream] = (self._unfinished[stream] + data).split(b"\n")
        self._write(stream, b"".join(b"%b%b\n" % (self._prefix, line) for line in lines))

    def finish(self) -> None:
        for stream, rest in self._unfinished.items():
            if rest:
                self._write(stream, b"%b%b\n" % (self._prefix, rest))

    def _write(self, stream: str, data: bytes) -> None:
        out = sys.stdout.buffer if stream == "stdout" else sys.stderr.buffer
        with self._lock:
            out.write(data)
            out.flush()
