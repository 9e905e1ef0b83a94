"""A private PostgreSQL server for tests: its own folder, a Unix socket only, gone at the end.

`initdb` refuses to run as root, so root's tests run the server as the user that the distribution's package made.
"""

import contextlib
import itertools
import os
import pwd
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg

MISSING = "PostgreSQL is not installed: apt-get install postgresql"
_USER = "postgres"
_START_S = 60.0

NewDatabase = Callable[[str | None], str]
"""Creates a new database, a copy of the named one if a name is given, and returns its URL."""


class PostgresMissing(Exception):
    """There is no PostgreSQL server on this machine."""


def postgres_binaries() -> Path:
    """The folder of `initdb` and `postgres`: Debian keeps them out of the PATH."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    if found:
        return found[-1].parent
    on_path = shutil.which("initdb")
    if on_path is None:
        raise PostgresMissing(MISSING)
    return Path(on_path).resolve().parent


@contextlib.contextmanager
def running_postgres(base: Path) -> Iterator[NewDatabase]:
    """A server whose files are under `base`, which must be reachable by other users (not pytest's `tmp_path`)."""
    binaries, data, sockets = postgres_binaries(), base / "data", base / "socket"
    base.chmod(0o711)
    for folder in (data, sockets):
        folder.mkdir(mode=0o700)
        if os.geteuid() == 0:
            shutil.chown(folder, _USER, _USER)
    _initdb(binaries, data)
    with _server(binaries, data, sockets):
        numbers = itertools.count(1)

        def new_database(template: str | None = None) -> str:
            name = f"muster_{next(numbers)}"
            with psycopg.connect(_url(sockets, "postgres"), autocommit=True) as connection:
                connection.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template or "template0"}"'.encode())
            return _url(sockets, name)

        yield new_database


def database_name(url: str) -> str:
    return url.partition("?")[0].rpartition("/")[2]


def _initdb(binaries: Path, data: Path) -> None:
    arguments = [str(binaries / "initdb"), "--pgdata", str(data), "--username", _USER, "--auth", "trust"]
    options = ["--encoding", "UTF8", "--locale", "C.UTF-8", "--no-sync"]
    done = subprocess.run([*_as_postgres(), *arguments, *options], capture_output=True, text=True, cwd="/", check=False)
    assert done.returncode == 0, done.stderr


@contextlib.contextmanager
def _server(binaries: Path, data: Path, sockets: Path) -> Iterator[None]:
    settings = {"listen_addresses": "", "unix_socket_directories": str(sockets), "max_connections": "100"}
    arguments = [item for name, value in settings.items() for item in ("-c", f"{name}={value}")]
    log = data.parent / "server.log"
    with log.open("wb") as output:
        server = subprocess.Popen(
            [*_as_postgres(), binaries / "postgres", "-D", data, *arguments], cwd="/", stdout=output, stderr=output
        )
    try:
        _wait_until_it_answers(server, sockets, log)
        yield
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(timeout=_START_S)


def _wait_until_it_answers(server: subprocess.Popen[bytes], sockets: Path, log: Path) -> None:
    deadline = time.monotonic() + _START_S
    while True:
        try:
            psycopg.connect(_url(sockets, "postgres")).close()
            return
        except psycopg.OperationalError:
            assert server.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.02)


def _as_postgres() -> list[str]:
    if os.geteuid() != 0:
        return []
    user = pwd.getpwnam(_USER)
    return ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups", "--"]


def _url(sockets: Path, database: str) -> str:
    return f"postgresql://{_USER}@/{database}?host={sockets}"
