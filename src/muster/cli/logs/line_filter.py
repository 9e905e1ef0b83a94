"""Selects lines by a pattern. This is done by the command itself, so that a costly pattern costs nobody else."""

import re
from collections.abc import Callable

import click

_COLOUR = re.compile(r"\x1b\[[0-9;:]*m")

Keep = Callable[[str], bool]


def keep_all(_: str) -> bool:
    return True


def keep_matching(pattern: str, flags: re.RegexFlag = re.NOFLAG) -> Keep:
    """Lines that contain the pattern, whatever their colours."""
    try:
        compiled = re.compile(pattern, flags)
    except re.error as error:
        hint = "-F takes it as it is"
        raise click.BadParameter(f"{pattern!r} is no pattern: {error}; {hint}", param_hint="--grep") from None
    return lambda line: compiled.search(_COLOUR.sub("", line)) is not None
