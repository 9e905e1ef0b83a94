"""`python -m muster.agent --root DIR`: the agent as a process, speaking frames on stdin and stdout."""

from __future__ import annotations

import argparse
import os
import signal
import stat
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import List, Optional

from muster.agent.diagnostics import Diagnostics
from muster.agent.epoch import Epoch
from muster.agent.errors import AgentError
from muster.agent.root_lock import lock
from muster.agent.service import Service
from muster.agent.system.channel import Channel
from muster.agent.system.descriptors import close_inherited
from muster.agent.system.fair_turns import FairTurns
from muster.agent.system.loop import Loop
from muster.agent.tasks import port_ranges
from muster.version import __version__

_BLOCKING_THREADS = 4
_UNPACKING_THREADS = 4
_KEPT_FREE_FOR_UNPACKING = 2


def main(argv: Optional[List[str]] = None) -> None:
    options = _parser().parse_args(argv)
    # Other ends of this very connection: tasks would inherit them, could speak in our name, and would keep it from
    # ending when we die.
    close_inherited()
    root = os.path.realpath(options.root)  # one spelling, whoever starts us: it marks our processes
    os.makedirs(root, 0o700, exist_ok=True)
    os.chmod(root, stat.S_IMODE(os.stat(root).st_mode) & 0o711)  # an earlier agent may have let tasks pass through it
    out_fd = _take_stdout()
    epoch = Epoch(root, options.epoch)
    _enter(epoch)
    lock(root, options.take_over)
    _enter(epoch)  # a later server may have come while this agent waited
    os.chdir("/")  # hold no file system that somebody may want to unmount
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a Ctrl-C in the server's terminal is meant for the server
    diagnostics = Diagnostics(os.path.join(root, "agent.log"))
    diagnostics.note("agent {} on Python {} started".format(__version__, sys.version.split()[0]))
    try:
        _serve(root, epoch, port_ranges.candidates(options.ports, port_ranges.ephemeral_range()), out_fd, diagnostics)
    except Exception as error:
        diagnostics.crash("the agent failed", error)
        _leave(1)


def _enter(epoch: Epoch) -> None:
    try:
        epoch.enter()
    except AgentError as error:
        sys.exit("muster agent: {}".format(error.message))


def _serve(root: str, epoch: Epoch, candidates: List[int], out_fd: int, diagnostics: Diagnostics) -> None:
    loop = Loop(ThreadPoolExecutor(_BLOCKING_THREADS, thread_name_prefix="muster-blocking"))
    unpacking = ThreadPoolExecutor(_UNPACKING_THREADS, thread_name_prefix="muster-unpacking")
    turns = FairTurns(unpacking, loop.post, _UNPACKING_THREADS, _KEPT_FREE_FOR_UNPACKING)
    service = Service(loop, root, epoch, candidates, diagnostics, turns)

    def close(problem: str) -> None:
        if problem:
            diagnostics.warn(problem)
        diagnostics.note("the server is gone; tasks go on")
        service.leave()
        _leave(1 if problem else 0)

    service.begin(Channel(loop, sys.stdin.fileno(), out_fd, service.handle, close))
    loop.run()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="muster agent", description="The node side of Muster.")
    parser.add_argument("--root", required=True, help="the folder that holds everything of this agent")
    parser.add_argument(
        "--ports",
        type=port_ranges.parse_range,
        default=port_ranges.DEFAULT_RANGE,
        metavar="A-B",
        help="where ports for tasks come from (default %(default)s)",
    )
    parser.add_argument(
        "--take-over",
        action="store_true",
        help="end an agent that has the root and does not leave by itself; its tasks go on",
    )
    parser.add_argument(
        "--epoch",
        type=int,
        default=0,
        help="the term of the server; the agent leaves if the root belongs to a server of a later term",
    )
    parser.add_argument("--version", action="version", version=__version__)
    return parser


def _take_stdout() -> int:
    """A stray print anywhere must not end up between two frames, so descriptor 1 becomes stderr."""
    out_fd = os.dup(1)
    os.dup2(2, 1)
    return out_fd


def _leave(code: int) -> None:
    """Exits at once: threads may be in the middle of unpacking, and whatever they leave is redone."""
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    main()
