"""Programs in the folder of a receiver that start it, the log server and the monitor by hand."""

import shlex
import sys
from pathlib import Path
from urllib.parse import urlsplit

from muster.receivers.written_files import PROGRAM, WrittenFile

RECEIVER = "start-receiver"
LOG_SERVER = "start-log-server"
MONITOR = "start-monitor"
_DEFAULT_PORT = 9900
_LOOPBACK = ("127.0.0.1", "localhost", "::1", None)
"""Where the log server listens without a token, too."""
_FIND = """muster={muster}
[ -x "$muster" ] || muster=muster  # on another machine
here=$(cd "$(dirname "$0")" && pwd)
"""
_DATA = """data="$here/../log-server"
[ -e "$here/start-receiver" ] || data="$here/log-server"  # copied to another place
mkdir -p "$data"
"""


def receiver_program(folder: Path) -> WrittenFile:
    words = [sys.executable, "-m", "muster.receivers.launch", str(folder)]
    text = f"# Runs this receiver here, unless it runs already.\nexec {shlex.join(words)}\n"
    return _program(text)


def needs_token(url: str) -> bool:
    """Whether the log server at this address would not start without a token."""
    return urlsplit(url).hostname not in _LOOPBACK


def log_server_program(url: str | None, token_file: Path | None) -> WrittenFile:
    parts = urlsplit(url or "")
    words = ["-p", str(parts.port or _DEFAULT_PORT)]
    words += [] if parts.hostname in _LOOPBACK else ["--host", str(parts.hostname)]
    words += ["--token-file", str(token_file)] if token_file is not None else []
    text = "# Runs the log server of the receivers. Options are added; see `muster logserver --help`.\n"
    text += f"{_find()}{_DATA}"
    text += f'exec "$muster" logserver {shlex.join(words)} -f "$data/jobs.log" "$@"\n'
    return _program(text)


def monitor_program() -> WrittenFile:
    text = "# Runs the monitor of the receivers, as monitor.yaml says. It had better run on another machine.\n"
    return _program(f'{text}{_find()}exec "$muster" monitor --config "$here/monitor.yaml" "$@"\n')


def _program(text: str) -> WrittenFile:
    return WrittenFile(f"#!/bin/sh\n{text}", PROGRAM)


def _find() -> str:
    return _FIND.format(muster=shlex.quote(str(Path(sys.executable).with_name("muster"))))
