"""Wires the concrete parts and runs the server: `python -m muster.bootstrap`. The only importer of adapters."""

import argparse
import fcntl
import gc
import getpass
import json
import logging
import os
import secrets
import signal
import socket
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import structlog
import uvicorn
import uvloop

from muster.backends.local.backend import LocalBackend
from muster.domain.accounts import User, UserRole
from muster.domain.errors import Conflict, Invalid, MusterError, NotAuthenticated
from muster.engine.accounts import Accounts
from muster.engine.context import Context
from muster.engine.logs import LogReader
from muster.engine.packages import PackageShelf
from muster.engine.running import running_engine
from muster.server.app import create_app
from muster.server.services import Services
from muster.settings.server import ServerSettings, load_settings
from muster.stores.opening import open_store

_log = structlog.get_logger("server")
LOCAL = "local"


def main(argv: Sequence[str] | None = None) -> int:
    try:
        settings = load_settings(_arguments(argv))
        _set_up_logging(settings)
        _make_home(settings.home)
        with _only_server(settings.home):
            uvloop.run(_serve(settings))
    except MusterError as error:
        _complain(error)
        return 2 if isinstance(error, Invalid) else 1
    except KeyboardInterrupt:
        return 130
    return 0


async def _serve(settings: ServerSettings) -> None:
    listener = _listen(settings.host, settings.port)
    url = f"http://{_shown_host(settings.host)}:{listener.getsockname()[1]}"
    store = await open_store(settings.database_url)
    try:
        context = Context(
            store=store,
            backends={LOCAL: LocalBackend(LOCAL, socket.gethostname(), settings.home / "node")},
            default_cluster=LOCAL,
            logs=settings.home / "logs",
            packages=settings.home / "packages",
            keep_finished_s=settings.keep_finished,
        )
        services = Services(
            context,
            Accounts(context, settings.session_lifetime),
            PackageShelf(context, settings.max_package_bytes),
            LogReader(context),
            settings.private_jobs,
        )
        async with running_engine(context):
            await _leave_context(settings.home, url, services)
            config = uvicorn.Config(
                create_app(services),
                log_config=None,
                access_log=settings.access_log,
                server_header=False,
                proxy_headers=False,
                lifespan="off",
                ws="none",
                timeout_graceful_shutdown=1,
                timeout_keep_alive=60,
            )
            gc.collect()
            gc.freeze()
            sys.setswitchinterval(0.001)  # a commit that is done should not wait for a busy loop to let go
            await _Server(config, url).serve(sockets=[listener])
    finally:
        await store.close()


class _Server(uvicorn.Server):
    """Says where it is as soon as it answers."""

    def __init__(self, config: uvicorn.Config, url: str) -> None:
        super().__init__(config)
        self._url = url

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            sys.stdout.write(f"Muster is at {self._url}\n")
            sys.stdout.flush()
            _log.info("serving", url=self._url)


async def _leave_context(home: Path, url: str, services: Services) -> None:
    """The first start makes an admin of the machine's own user. Every start leaves a way in for that user alone: a
    token in a file that nobody else can read."""
    name = _own_name()
    store = services.context.store
    if not await store.users():
        await services.accounts.create_user(name, UserRole.ADMIN, None, actor=name)
    path = home / "context.json"
    contexts = _read_contexts(path)
    mine = contexts["contexts"].get(LOCAL, {})
    user = await store.user(str(mine.get("user", name)))
    if user is None:
        return
    token = await _kept_or_new_token(services, user, mine.get("token"))
    contexts["contexts"][LOCAL] = {"server": url, "token": token, "user": user.name}
    contexts["current"] = contexts.get("current") or LOCAL
    _write_private(path, json.dumps(contexts, indent=2) + "\n")


async def _kept_or_new_token(services: Services, user: User, token: str | None) -> str:
    if token:
        try:
            await services.accounts.authenticate(token)
        except NotAuthenticated:
            token = None
    if token:
        return token
    _, secret = await services.accounts.create_token(user, "this machine", None, actor=user.name)
    return secret


def _read_contexts(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(path.read_text())
    except (OSError, ValueError):
        data = {}
    return data if isinstance(data, dict) and isinstance(data.get("contexts"), dict) else {"contexts": {}}


def _write_private(path: Path, text: str) -> None:
    partial = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
    partial.replace(path)


def _own_name() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "admin"


def _make_home(home: Path) -> None:
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        for name in ("logs", "packages", "node"):
            (home / name).mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise Invalid(f"cannot use {home} as the home folder: {error}", hint="set MUSTER_HOME to another") from None


@contextmanager
def _only_server(home: Path) -> Iterator[None]:
    with (home / "server.lock").open("a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Conflict(
                f"another server already uses {home}", hint="stop it, or set MUSTER_HOME to another folder"
            ) from None
        yield


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        raise Invalid(f"cannot listen on {host}:{port}: {error.strerror}", hint="choose another --port, or 0") from None
    listener.listen(1024)
    return listener


def _shown_host(host: str) -> str:
    if host in ("0.0.0.0", "::"):  # noqa: S104 - compared, not bound
        return socket.gethostname()
    return f"[{host}]" if ":" in host else host


def _set_up_logging(settings: ServerSettings) -> None:
    level = getattr(logging, settings.log_level.upper())
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso"),
            structlog.processors.format_exc_info,
            structlog.dev.ConsoleRenderer(colors=False)
            if sys.stderr.isatty()
            else structlog.processors.JSONRenderer(ensure_ascii=False),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )
    logging.basicConfig(level=max(level, logging.WARNING), stream=sys.stderr)


def _arguments(argv: Sequence[str] | None) -> dict[str, object]:
    parser = argparse.ArgumentParser(prog="muster server", description="The Muster server.")
    parser.add_argument("--home", help="everything the server keeps ($MUSTER_HOME, ~/.muster)")
    parser.add_argument("--config", help="settings file (config.yaml in the home folder)")
    parser.add_argument("--host", help="address to listen on (127.0.0.1)")
    parser.add_argument("--port", type=int, help="port to listen on (7070; 0 takes a free one)")
    parser.add_argument("--log-level", dest="logLevel", choices=("debug", "info", "warning", "error"))
    parser.add_argument("--access-log", dest="accessLog", action="store_true", default=None)
    return dict(vars(parser.parse_args(argv)))


def _complain(error: MusterError) -> None:
    lines = [f"error: {error.message}", *(f"  {p}" for p in getattr(error, "problems", ()))]
    if error.hint:
        lines.append(f"hint: {error.hint}")
    sys.stderr.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    sys.exit(main())
