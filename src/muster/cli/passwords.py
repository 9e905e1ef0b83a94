"""Asks for passwords on the terminal, or reads them from standard input."""

import sys

import click

_SHORTEST = 8


def ask_password(text: str) -> str:
    require_terminal()
    return str(click.prompt(text, hide_input=True, err=True))


def new_password(from_stdin: bool) -> str:
    """A password that is too short is refused before it has to be typed again."""
    if from_stdin:
        return _long_enough(read_password())
    password = _long_enough(ask_password("New password"))
    if ask_password("Repeat for confirmation") != password:
        raise click.UsageError("the two passwords are not the same")
    return password


def read_password() -> str:
    return sys.stdin.readline().rstrip("\n")


def require_terminal() -> None:
    if not sys.stdin.isatty():
        raise click.UsageError("cannot ask for a password without a terminal; use --password-stdin")


def _long_enough(password: str) -> str:
    if len(password) < _SHORTEST:
        raise click.UsageError(f"a password has at least {_SHORTEST} characters")
    return password
