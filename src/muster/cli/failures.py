"""How a failure is told: `error:`, `hint:`, then each problem on its own line. Never a traceback."""

import errno
import os
from typing import IO, Any, NoReturn

import click


class Failure(click.ClickException):
    """Ends the command with exit code 1 after saying why."""

    exit_code = 1

    def __init__(self, message: str, *, hint: str = "", problems: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.hint = hint
        self.problems = problems

    def show(self, file: IO[Any] | None = None) -> None:
        click.echo(f"{click.style('error:', fg='red', bold=True)} {self.message}", err=True)
        for problem in self.problems:
            click.echo(f"  {problem}", err=True)
        if self.hint:
            click.echo(f"{click.style('hint:', fg='cyan')} {self.hint}", err=True)


def retell(error: Exception) -> NoReturn:
    """Turns what came out of a command into an exit. What click knows itself passes through."""
    from muster.client.errors import MusterError

    if isinstance(error, MusterError):
        raise Failure(
            error.message, hint=_hint(error), problems=tuple(str(problem) for problem in error.problems)
        ) from error
    if isinstance(error, OSError) and error.errno != errno.EPIPE and error.strerror:
        where = f"{error.filename}: " if error.filename else ""
        raise Failure(f"{where}{error.strerror}") from error
    if isinstance(error, OSError) or os.environ.get("MUSTER_DEBUG"):
        raise error
    raise Failure(
        f"unexpected {type(error).__name__}: {error}",
        hint="this is a fault of muster itself; MUSTER_DEBUG=1 shows where",
    ) from error


def _hint(error: Any) -> str:
    if error.code == "not-authenticated":
        return str(error.hint or "log in with `muster login`, or set MUSTER_TOKEN")
    return str(error.hint)
