"""Reads a page as what somebody who follows it does, from top to bottom: files to write, and commands to type.

| in the page | what it means |
|---|---|
| a `console` block | every line after `$ ` is typed; the lines below it are what it prints |
| a `sh` or `python` block | is run as a whole; a `text` block right after it is what it prints |
| a `yaml` block whose first line is `# NAME` | is written to that file; those of the server are in its home |
| `<!-- setup: … -->` | what machine the page presumes, see `machine.py` |
| `<!-- file: NAME` … `-->` | a file that the page presumes |
| `<!-- run: COMMAND -->` | a command that the page presumes; it must succeed |
| `<!-- until: COMMAND -->` | repeats a command until it succeeds |
| `<!-- not run: REASON -->` | the next block is not run |
| `<!-- page not run: REASON -->` | nothing in the page is run |
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

__all__ = ["Command", "File", "NotRun", "Setup", "Step", "Until", "needs_slurm", "read_steps"]

_COMMENT = re.compile(r"<!-- (setup|file|run|until|not run): (.*)", re.DOTALL)
_PAGE = re.compile(r"^<!-- page not run: (.*) -->$")
_NAMED = re.compile(r"^# ((?:clusters\.d/)?[\w.-]+\.(?:yaml|json|csv|py))\b")
_HEREDOC = re.compile(r"<<-?\s*['\"]?(\w+)")
_FILES = {"yaml", "json", "text", ""}
_RUN = {"sh", "python"}


@dataclass(frozen=True)
class Setup:
    words: tuple[str, ...]


@dataclass(frozen=True)
class File:
    path: str
    content: str


@dataclass(frozen=True)
class Command:
    """`first` and `last` are the lines of the page that hold what it prints, from 0; both are 0 if nothing is shown."""

    line: int
    text: str
    expected: tuple[str, ...] = ()
    first: int = 0
    last: int = 0
    hidden: bool = False
    language: str = "sh"


@dataclass(frozen=True)
class Until:
    line: int
    text: str


@dataclass(frozen=True)
class NotRun:
    line: int
    reason: str


Step = Setup | File | Command | Until | NotRun


def read_steps(text: str) -> list[Step]:
    lines = text.splitlines()
    for number, line in enumerate(lines):
        if found := _PAGE.match(line):
            return [NotRun(number, found[1])]
    return list(_steps(lines))


def needs_slurm(steps: Iterable[Step]) -> bool:
    """Whether the page presumes a Slurm cluster: `make test-slurm` follows it then."""
    return any(word.partition("=")[0] == "slurm" for step in steps if isinstance(step, Setup) for word in step.words)


def _steps(lines: list[str]) -> Iterator[Step]:
    at = 0
    skipping = False
    while at < len(lines):
        if lines[at].startswith("<!-- "):
            end = next(number for number in range(at, len(lines)) if lines[number].endswith("-->"))
            for step in _of_comment(at, "\n".join(lines[at : end + 1]).removesuffix("-->").rstrip()):
                skipping = isinstance(step, NotRun)
                yield step
            at = end + 1
        elif lines[at].startswith("```"):
            language = lines[at].removeprefix("```").strip()
            end = next(number for number in range(at + 1, len(lines)) if lines[number].startswith("```"))
            if not skipping:
                yield from _of_block(lines, language, at + 1, end)
            skipping = False
            at = end + 1
        else:
            at += 1


def _of_comment(line: int, comment: str) -> Iterator[Step]:
    found = _COMMENT.match(comment)
    if found is None:
        return
    kind, rest = found.groups()
    match kind:
        case "setup":
            yield Setup(tuple(rest.split()))
        case "file":
            path, _, content = rest.partition("\n")
            yield File(path.strip(), content + "\n")
        case "run":
            yield Command(line, rest, hidden=True)
        case "until":
            yield Until(line, rest)
        case _:
            yield NotRun(line, rest)


def _of_block(lines: list[str], language: str, first: int, end: int) -> Iterator[Step]:
    body = "\n".join(lines[first:end]) + "\n"
    if language == "console":
        yield from _typed(lines, first, end)
    elif language in _RUN:
        shown = _text_after(lines, end)
        yield Command(first, body, tuple(lines[shown[0] : shown[1]]), *shown, language=language)
    elif language in _FILES and (named := _NAMED.match(body)):
        yield File(named[1], body)


def _typed(lines: list[str], at: int, end: int) -> Iterator[Command]:
    prompt = "$ " if any(line.startswith("$ ") for line in lines[at:end]) else "# "
    while at < end:
        start = at
        text = lines[at].removeprefix(prompt)
        while text.endswith("\\"):
            at += 1
            text += "\n" + lines[at]
        if heredoc := _HEREDOC.search(text):
            while lines[at] != heredoc[1]:
                at += 1
                text += "\n" + lines[at]
        first = at = at + 1
        while at < end and not lines[at].startswith(prompt):
            at += 1
        shown = (first, at) if at > first else (0, 0)
        yield Command(start, text, tuple(lines[first:at]), *shown)


def _text_after(lines: list[str], end: int) -> tuple[int, int]:
    """The `text` block below a block that ends at this line, with at most a sentence ending with a colon between."""
    start = next((number for number in range(end + 1, len(lines)) if lines[number].startswith("```")), len(lines))
    between = [line for line in lines[end + 1 : start] if line]
    if start == len(lines) or lines[start] != "```text" or any(not line.endswith(":") for line in between):
        return 0, 0
    return start + 1, next(number for number in range(start + 1, len(lines)) if lines[number].startswith("```"))
