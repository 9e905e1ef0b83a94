"""The client as one file, and how it is run where nothing but Python is installed."""

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

POSIX_ONLY_MODULES = ("fcntl", "grp", "posix", "pty", "pwd", "resource", "syslog", "termios", "tty")
AS_ON_WINDOWS = f"""\
import os, posixpath, select, shutil, signal, stat, subprocess, sys, tempfile, threading  # they need the real os

for name in {POSIX_ONLY_MODULES!r}:
    sys.modules[name] = None
for name in ("O_DIRECTORY", "O_NOFOLLOW", "O_CLOEXEC", "O_NONBLOCK", "getuid", "geteuid", "getgid", "fork", "mkfifo",
             "fchmod", "chown", "killpg", "getpgid", "setsid", "uname"):
    if hasattr(os, name):
        delattr(os, name)
for name in ("SIGHUP", "SIGWINCH", "SIGKILL", "SIGUSR1", "pthread_sigmask"):
    delattr(signal, name)
delattr(select, "poll")
os.supports_dir_fd.clear()
"""
"""Takes away what Windows does not have, before anything of the client is imported."""


def build(folder: Path) -> Path:
    target = folder / "muster.pyz"
    words = [sys.executable, "scripts/build_zipapp.py", str(target)]
    subprocess.run(words, check=True, capture_output=True, cwd=Path(__file__).parents[3])
    return target


def run(
    client: Path, *words: str, env: Mapping[str, str], cwd: Path, stdin: str = "", prelude: str = ""
) -> "subprocess.CompletedProcess[str]":
    """Without the packages of this environment and without its variables for Python. `prelude` is run before it."""
    start = [str(client)]
    if prelude:
        start = ["-c", f"{prelude}\nsys.argv[0] = {str(client)!r}\nsys.path.insert(0, {str(client)!r})\n{_MAIN}"]
    python = [getattr(sys, "_base_executable", sys.executable), "-I", "-S"]
    return subprocess.run(
        [*python, *start, *words], env=dict(env), cwd=cwd, input=stdin, capture_output=True, text=True, check=False
    )


_MAIN = "import runpy\nrunpy.run_path(sys.argv[0], run_name='__main__')\n"
