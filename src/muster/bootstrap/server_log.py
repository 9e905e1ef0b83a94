"""The log of the server itself: JSON lines on stderr (plain text if stderr is a terminal), and in a file if one is set.

The lines of libraries take the same way. Passwords that the server knows and everything that looks like a token or a
signature are replaced before a line is written.
"""

import json
import logging
import re
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import structlog

from muster.domain.errors import Invalid
from muster.lib.rotating_file import RotatingFile
from muster.settings.server import ServerSettings

_HIDDEN = "***"
_SHORTEST_SECRET = 4
"""Shorter ones would hide words that are no secrets."""
_NAMES = "token|password|secret|signature|api_?key"
_SECRET = re.compile(rf"(?i)(bearer\s+|(?:{_NAMES})=|\"(?:{_NAMES})\": \")[^\s&\"',;}}\\]+")
_TOKEN = re.compile(r"(mst_)[\w-]+")
"""A token anywhere, such as in the path by which OpenPAI's clients revoke one."""
_IN_ADDRESS = re.compile(r"(\w://[^\s/:@\"]*:)[^\s/@\"]+@")
Redact = Callable[[str], str]


def set_up_logging(settings: ServerSettings) -> Path | None:
    """Returns the file that the log is written to. It differs from the one in the settings if another server writes to
    that one. Raises Invalid if the file cannot be used."""
    level = getattr(logging, settings.log_level.upper())
    file = _log_file(settings)
    _configure(level, _redaction(_known_secrets(settings)), file)
    if settings.access_log:
        logging.getLogger("uvicorn.access").setLevel(logging.INFO)
    return file.path if file else None


def set_up_plain_logging(level: int, secrets: Sequence[str]) -> None:
    """Sets logging up for programs that log to stderr only."""
    _configure(level, _redaction([secret for secret in secrets if len(secret) >= _SHORTEST_SECRET]), None)


def _configure(level: int, redact: Redact, file: RotatingFile | None) -> None:
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso"),
            structlog.processors.format_exc_info,
            *([_writing_to(file, redact)] if file else []),
            structlog.dev.ConsoleRenderer(colors=False)
            if sys.stderr.isatty()
            else structlog.processors.JSONRenderer(ensure_ascii=False),
            lambda _logger, _method, line: redact(str(line)),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )
    logging.basicConfig(level=max(level, logging.WARNING), handlers=[_FromLibraries()], force=True)


class _FromLibraries(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        more: dict[str, Any] = {"exc_info": record.exc_info} if record.exc_info else {}
        structlog.get_logger().log(record.levelno, record.getMessage(), logger=record.name, **more)


def _log_file(settings: ServerSettings) -> RotatingFile | None:
    wanted = settings.log_file
    if wanted is None:
        return None
    path = settings.home / wanted.path.expanduser()
    try:
        return RotatingFile(path, wanted.max_size, wanted.keep, _lost_note)
    except OSError as error:
        raise Invalid(
            f"cannot write the log file {path}: {error.strerror}", hint="logFile names a file in a folder that exists"
        ) from None


def _writing_to(file: RotatingFile, redact: Redact) -> structlog.typing.Processor:
    def write(_logger: object, _method: str, entry: structlog.typing.EventDict) -> structlog.typing.EventDict:
        line = redact(json.dumps(entry, ensure_ascii=False, default=str))
        file.write(line.encode("utf-8", "backslashreplace") + b"\n")
        return entry

    return write


def _lost_note(count: int, why: str) -> bytes:
    entry = {"event": "log lines are missing here", "count": count, "error": why, "level": "warning"}
    return json.dumps({**entry, "timestamp": datetime.now(UTC).isoformat().replace("+00:00", "Z")}).encode() + b"\n"


def _known_secrets(settings: ServerSettings) -> Sequence[str]:
    in_address = re.search(r"://[^/@]*?:([^@]*)@", settings.database_url)
    password = in_address[1] if in_address else ""
    return [
        secret
        for secret in {
            password,
            unquote(password),
            settings.influx_password,
            settings.oidc_secret,
            settings.log_server_token,
        }
        if len(secret) >= _SHORTEST_SECRET
    ]


def _redaction(secrets: Sequence[str]) -> Redact:
    def redact(line: str) -> str:
        for secret in secrets:
            line = line.replace(secret, _HIDDEN)
        line = _TOKEN.sub(rf"\1{_HIDDEN}", _SECRET.sub(rf"\1{_HIDDEN}", line))
        return _IN_ADDRESS.sub(rf"\1{_HIDDEN}@", line)

    return redact
