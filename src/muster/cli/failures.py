"""Prints errors of commands: `error:`, `hint:`, and each problem on its own line, but never a traceback."""

import errno
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any, NoReturn

import click

from muster.cli.terminal import echo

_PART = re.compile(r"^(?:body|path|query)\.")
"""Where in the request a value was, which means nothing to whoever typed it."""


class Failure(click.ClickException):
    """Ends the command with an error message and exit code 1."""

    exit_code = 1

    def __init__(
        self, message: str, *, hint: str = "", problems: tuple[str, ...] = (), warnings: tuple[str, ...] = ()
    ) -> None:
        super().__init__(message)
        self.hint = hint
        self.problems = problems
        self.warnings = warnings

    def show(self, file: IO[Any] | None = None) -> None:
        for warning in self.warnings:
            echo(f"{click.style('warning:', fg='yellow')} {warning}", err=True)
        echo(f"{click.style('error:', fg='red', bold=True)} {self.message}", err=True)
        for problem in self.problems:
            echo(f"  {problem}", err=True)
        if self.hint:
            echo(f"{click.style('hint:', fg='cyan')} {self.hint}", err=True)


class WrongUsage(Failure):
    """Ends the command with the exit code of click for wrong usage."""

    exit_code = 2


@contextmanager
def reading_options() -> Iterator[None]:
    """Around a request that only passes options on: what the server cannot read in them is wrong usage."""
    from muster.client.errors import MusterError

    try:
        yield
    except MusterError as error:
        if error.code not in ("invalid", "bad-request"):
            raise
        raise _failure_of(error, WrongUsage) from error


def exit_with_error(error: Exception) -> NoReturn:
    """Turns an exception of a command into an error message and exit code. Exceptions of click pass through."""
    from muster.client.errors import MusterError

    if isinstance(error, MusterError):
        raise _failure_of(error, Failure) from error
    if isinstance(error, OSError) and error.errno != errno.EPIPE and error.strerror:
        where = f"{error.filename}: " if error.filename else ""
        raise Failure(f"{where}{error.strerror}") from error
    if isinstance(error, OSError) or os.environ.get("MUSTER_DEBUG"):
        raise error
    raise Failure(
        f"unexpected {type(error).__name__}: {error}",
        hint="this is a bug in Muster; MUSTER_DEBUG=1 shows where",
    ) from error


def _failure_of(error: Any, kind: type[Failure]) -> Failure:
    return kind(
        error.message,
        hint=hint_of(error),
        problems=tuple(_PART.sub("", str(problem)) for problem in error.problems),
        warnings=error.warnings,
    )


def hint_of(error: Any) -> str:
    if error.code != "not-authenticated":
        return str(error.hint)
    ctx = click.get_current_context(silent=True)
    names_context = ctx is not None and (ctx.find_root().obj or {}).get("context")
    if os.environ.get("MUSTER_TOKEN") and "token" in error.message and not names_context:
        return "MUSTER_TOKEN is set and used instead of your login: correct it, or unset it"
    return str(error.hint or "log in with `muster login`, or set MUSTER_TOKEN")
