"""The log server as a process: its arguments, its log, its signals and its exit code."""

import argparse
import logging
import os
import socket
import sys
from collections.abc import Sequence
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

import structlog
import uvicorn
import uvloop

from muster.domain.errors import Conflict, Invalid, MusterError
from muster.lib.quantities import parse_bytes
from muster.logserver.app import create_app
from muster.logserver.line_files import InUse
from muster.logserver.notifying import Notifier
from muster.logserver.reading import Reader
from muster.logserver.storage import Storage
from muster.logserver.writing import Writer
from muster.settings.private_files import read_secret

_log = structlog.get_logger("logserver")
_SMALLEST = 1024
TOKEN = "MUSTER_LOGSERVER_TOKEN"  # noqa: S105 - the name of a variable
NOTIFY = "MUSTER_LOGSERVER_NOTIFY"


def main(argv: Sequence[str] | None = None) -> int:
    given = _arguments(argv)
    _set_up_logging(given.log_level)
    try:
        uvloop.run(_run(given))
    except MusterError as error:
        print(f"error: {error.message}" + (f" ({error.hint})" if error.hint else ""), file=sys.stderr)  # noqa: T201
        return 2 if isinstance(error, Invalid) else 1
    except KeyboardInterrupt:
        return 130
    return 0


async def _run(given: argparse.Namespace) -> None:
    token = _token(given.token_file)
    if not token and not _is_loopback(given.host):
        hint = f"give --token-file FILE, or set {TOKEN}; or listen on 127.0.0.1"
        raise Invalid(f"without a token, the log server does not listen on {given.host}", hint=hint)
    notify = _address(given.notify)
    listener = _listener(given.host, given.port)
    url = f"{'https' if given.tls_cert else 'http'}://{_shown(given.host)}:{listener.getsockname()[1]}"
    storage = _storage(Path(given.log_file).expanduser().absolute(), given)
    reader = Reader(storage.index_path, storage.files)
    notifier = Notifier(notify, storage.index_path, storage.files) if notify else None
    writer = Writer(storage, notifier.wake if notifier else lambda: None)

    def about() -> dict[str, object]:
        return {"file": str(storage.files.path), "notify": None if notifier is None else notifier.counts()}

    config = uvicorn.Config(
        create_app(writer, reader, token, about),
        log_config=None,
        access_log=False,
        server_header=False,
        lifespan="off",
        limit_concurrency=500,
        timeout_graceful_shutdown=5,
        timeout_keep_alive=75,
        ssl_certfile=given.tls_cert,
        ssl_keyfile=given.tls_key,
    )
    try:
        await _Announcing(config, url, has_token=bool(token)).serve(sockets=[listener])
    finally:
        if notifier is not None:
            notifier.close()
        await writer.close()
        reader.close()
        storage.close()


class _Announcing(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, url: str, *, has_token: bool) -> None:
        super().__init__(config)
        self._url = url
        self._has_token = has_token

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        print(f"The log server is at {self._url}", flush=True)  # noqa: T201
        if not self._has_token:
            _log.warning("everybody on this machine may send and read records", hint=f"set {TOKEN} or --token-file")


def _listener(host: str, port: int) -> socket.socket:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        return socket.create_server(found[4][:2], family=found[0], backlog=512)
    except OSError as error:
        hint = "another program may use the port: choose another one with --port"
        raise Invalid(f"cannot listen on {host}:{port}: {error.strerror or error}", hint=hint) from None


def _storage(path: Path, given: argparse.Namespace) -> Storage:
    try:
        return Storage(path, given.max_size, given.keep)
    except InUse:
        raise Conflict(f"another log server writes to {path}", hint="stop it, or give this one another file") from None
    except OSError as error:
        raise Invalid(
            f"cannot use {path}: {error.strerror}", hint="give a file in a folder that exists and can be written"
        ) from None


def _token(file: str | None) -> str:
    if file is None:
        return os.environ.get(TOKEN, "").strip()
    try:
        return read_secret(Path(file).expanduser(), "token")
    except ValueError as error:
        raise Invalid(f"--token-file: {error}") from None


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _shown(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _address(notify: str | None) -> str:
    url = notify or os.environ.get(NOTIFY, "")
    parts = urlsplit(url)
    if url and (parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc):
        raise Invalid("--notify must be an address such as http://host/path, without user and password")
    return url


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="muster logserver", description="Collect the records of jobs.")
    parser.add_argument("-p", "--port", type=int, default=9900)
    parser.add_argument("-f", "--log-file", "--log_file", required=True)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--token-file")
    parser.add_argument("--notify")
    parser.add_argument("--max-size", type=_size, default=parse_bytes("256Mi"))
    parser.add_argument("--keep", type=_count)
    parser.add_argument("--tls-cert")
    parser.add_argument("--tls-key")
    parser.add_argument("--log-level", choices=("debug", "info", "warning", "error"), default="info")
    given = parser.parse_args(argv)
    if (given.tls_cert is None) != (given.tls_key is None):
        parser.error("--tls-cert and --tls-key must be given together")
    return given


def _size(text: str) -> int:
    try:
        size = parse_bytes(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    if size < _SMALLEST:
        raise argparse.ArgumentTypeError(f"{text} is too small: the least is 1Ki")
    return size


def _count(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of files, at least 1")
    return int(text)


def _set_up_logging(level: str) -> None:
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso"),
            structlog.processors.format_exc_info,
            structlog.dev.ConsoleRenderer(colors=False)
            if sys.stderr.isatty()
            else structlog.processors.JSONRenderer(ensure_ascii=False),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(getattr(logging, level.upper())),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr)
