"""`$(NAME)` in the command, the arguments and the variables of a container, read as Kubernetes reads it.

`$(NAME)` is the value of a variable that is known at that place, and stays as it is if there is none. `$$` is one `$`,
so that `$$(NAME)` is the text `$(NAME)`. Every other `$` is left alone.
"""

import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby

_READ = re.compile(r"\$[$(]")


@dataclass(frozen=True, slots=True)
class Reference:
    """A variable whose value only the task itself knows."""

    name: str


Part = str | Reference
Lookup = Callable[[str], Sequence[Part] | None]
"""What a variable stands for, or None if there is no such variable at this place."""


def expanded(text: str, lookup: Lookup, spend: Callable[[int], None]) -> list[Part]:
    """`spend` is told the length of each part before the parts are put together, and may raise."""
    spend(len(text))
    parts: list[Part] = []
    end, last = 0, text.rfind(")")
    while (match := _READ.search(text, end)) is not None:
        parts.append(text[end : match.start()])
        start, end = match.start(), match.end()
        if match[0] == "$$":
            parts.append("$")
            continue
        if last < end:
            parts.append(match[0])  # never closed, so it is text
            continue
        end = text.index(")", end) + 1
        found = lookup(text[start + 2 : end - 1])
        spend(sum(len(part) for part in found or () if isinstance(part, str)))
        parts += [text[start:end]] if found is None else found
    return _joined([*parts, text[end:]])


def is_literal(parts: Sequence[Part]) -> bool:
    return all(isinstance(part, str) for part in parts)


def literal(parts: Sequence[Part]) -> str:
    return "".join(part for part in parts if isinstance(part, str))


def shell_word(parts: Sequence[Part]) -> str:
    """One word of a shell script that has this value, whatever the variables contain."""
    return "".join(f'"${{{part.name}}}"' if isinstance(part, Reference) else shlex.quote(part) for part in parts)


def _joined(parts: Sequence[Part]) -> list[Part]:
    joined: list[Part] = []
    for is_text, run in groupby(parts, lambda part: isinstance(part, str)):
        together = list(run)
        joined += [literal(together)] if is_text and any(together) else [] if is_text else together
    return joined or [""]
