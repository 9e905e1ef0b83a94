"""Expressions of features, as `sbatch --constraint` takes them: `fast&(a100|v100)`, `[rack1|rack2]`, `gpu*2&cpu*4`.

Slurm itself tells of a mistake only when a job is submitted, does not say where it is, and takes some of which it reads
the beginning only, such as `fast|` and `fast*2a100`. Which features there are is for Slurm to say.
"""

import re
from collections.abc import Iterator

_PART = re.compile(r"[&|,]|[()\[\]]|\*\d*|[^&|,()\[\]*]+")
_JOINING = frozenset("&|,")
_CLOSING = {"(": ")", "[": "]"}
_BRACKETS = re.compile(r"\[([^\[\]]*)\]")
_PARENTHESES = re.compile(r"\([^()]*\)")


def constraint_problem(text: str) -> str:
    """What is wrong with it, and where; empty if nothing is."""
    return next(_problems(text), "")


def is_choice(text: str) -> bool:
    """Whether it has a `|` outside of all brackets, so that nothing can be added to it with `&`."""
    depth = 0
    for sign in text:
        depth += (sign in "([") - (sign in ")]")
        if sign == "|" and not depth:
            return True
    return False


def _problems(text: str) -> Iterator[str]:
    before = ""
    for found in _PART.finditer(text):
        part, at = found[0], found.start() + 1
        is_after_feature = bool(before) and before not in _JOINING and before not in _CLOSING
        if part[0] == "*":
            yield from _count_problems(part, at, is_countable=is_after_feature and before[0] != "*" and before != "]")
            if text[:at].count("(") > text[:at].count(")"):
                yield f"{part!r} at position {at} is inside of parentheses; Slurm takes it only after them"
        elif (part in _JOINING or part in _CLOSING.values()) and not is_after_feature:
            yield f"expected a feature before {part!r} at position {at}"
        elif part not in _JOINING and part not in _CLOSING.values() and is_after_feature:
            yield f"expected & or | before {part!r} at position {at}"
        before = part
    yield from _bracket_problems(text)
    if not before or before in _JOINING:
        yield f"expected a feature after {before!r} at its end" if before else "expected a feature"
    if "!" in text:
        yield f"'!' at position {text.index('!') + 1}: Slurm cannot ask for nodes without a feature"
    yield from _choice_problems(text)


def _count_problems(count: str, at: int, *, is_countable: bool) -> Iterator[str]:
    if not is_countable:
        yield f"expected a feature, or several in parentheses, before {count!r} at position {at}"
    if not count[1:].strip("0"):
        yield f"expected the number of nodes after '*' at position {at}, such as fast*2"


def _bracket_problems(text: str) -> Iterator[str]:
    """Parentheses may be inside of brackets and the other way round, and none inside of its own kind."""
    still_open: list[tuple[str, int]] = []
    for at, sign in enumerate(text, 1):
        if sign in _CLOSING:
            if any(sign == other for other, _ in still_open):
                yield f"{sign!r} at position {at} is inside of another one, which Slurm does not take"
            still_open.append((sign, at))
        elif sign in _CLOSING.values() and (not still_open or _CLOSING[still_open.pop()[0]] != sign):
            yield f"{sign!r} at position {at} closes nothing"
    if still_open:
        yield f"{still_open[-1][0]!r} at position {still_open[-1][1]} is not closed"


def _choice_problems(text: str) -> Iterator[str]:
    """Brackets have either features of which all nodes have the same, or a number of nodes for each feature."""
    pairs = list(_BRACKETS.finditer(text))
    if len(pairs) > 1:
        yield f"'[' at position {pairs[1].start() + 1} is the second one, and Slurm takes one pair of brackets"
    for pair in pairs:
        content = _PARENTHESES.sub("()", pair[1]).replace(",", "&")
        features = re.split("[&|]", content)
        if "&" in content and "|" in content:
            yield f"{pair[0]!r} joins features by & and by |, of which Slurm takes one kind in brackets"
        elif "|" in content and "*" in content:
            yield f"{pair[0]!r} has counts, which Slurm takes in brackets only between &"
        elif "&" in content and not all("*" in feature for feature in features):
            yield f"{pair[0]!r} joins features by &, which Slurm takes in brackets only with a count for each"
