"""MLflow's filter language: conditions on metrics, params, tags and attributes, joined by AND; and its orders.

metrics.loss < 0.5 AND params.opt = 'adam' AND tags.team IS NOT NULL AND attributes.run_name ILIKE '%net%'
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from muster.domain.errors import Invalid
from muster.server.compatibility.mlflow.like_patterns import LikePattern, Work

_MOST_CONDITIONS = 100
_TOKEN = re.compile(
    r"\s*(?:(?P<text>'(?:[^'\\]|\\.)*')|(?P<sign><=|>=|!=|=|<|>)|(?P<mark>[(),])"
    r"|(?P<word>(?:[A-Za-z_]+\.)?(?:`[^`]+`|\"[^\"]+\"|[\w./:+-]+)))"
)
_KINDS: Mapping[str, str] = {
    **dict.fromkeys(("metric", "metrics"), "metrics"),
    **dict.fromkeys(("param", "params", "parameter", "parameters"), "params"),
    **dict.fromkeys(("tag", "tags"), "tags"),
    **dict.fromkeys(("attribute", "attributes", "attr", "run"), "attributes"),
}
_NUMBERS = ("start_time", "end_time")
ATTRIBUTES: Mapping[str, str] = {
    **{name: name for name in (*_NUMBERS, "status", "run_id", "run_name", "user_id", "artifact_uri")},
    "created": "start_time",
    "run name": "run_name",
    "start time": "start_time",
    "user": "user_id",
}
Value = str | float | None
Look = Callable[[str, str], Value]
"""What a run has of a kind under a name; None if it has nothing."""


@dataclass(frozen=True, slots=True)
class Condition:
    kind: str
    name: str
    holds: Callable[[Value], bool]


@dataclass(frozen=True, slots=True)
class Order:
    kind: str
    name: str
    is_descending: bool


def conditions(text: str | None) -> list[Condition]:
    """Those on runs. Raises Invalid."""
    return conditions_on(text, ATTRIBUTES, _NUMBERS)


def conditions_on(text: str | None, attributes: Mapping[str, str], numbers: Sequence[str]) -> list[Condition]:
    """`numbers` are those of the attributes that are compared as numbers. Raises Invalid."""
    tokens = _Tokens(text or "", attributes, numbers)
    found: list[Condition] = []
    while not tokens.is_over:
        if found:
            tokens.expect("AND")
        found.append(_condition(tokens))
        if len(found) > _MOST_CONDITIONS:
            raise Invalid(f"a filter has at most {_MOST_CONDITIONS} conditions")
    return found


def orders(texts: Sequence[str]) -> list[Order]:
    """Those of runs. Raises Invalid."""
    return orders_on(texts, ATTRIBUTES)


def orders_on(texts: Sequence[str], attributes: Mapping[str, str]) -> list[Order]:
    return [_order(text, attributes) for text in texts]


def _order(text: str, attributes: Mapping[str, str]) -> Order:
    tokens = _Tokens(text, attributes, ())
    kind, name = _identifier(tokens)
    word = "ASC" if tokens.is_over else tokens.take().upper()
    if word not in ("ASC", "DESC") or not tokens.is_over:
        raise Invalid(f"{text!r} is not an order", hint="write such as `metrics.loss ASC` or `start_time DESC`")
    return Order(kind, name, word == "DESC")


def _condition(tokens: "_Tokens") -> Condition:
    kind, name = _identifier(tokens)
    sign = tokens.take().upper()
    if sign == "IS":
        is_not = tokens.skip("NOT")
        tokens.expect("NULL")
        return Condition(kind, name, (lambda value: value is not None) if is_not else (lambda value: value is None))
    if kind == "metrics" or (kind == "attributes" and name in tokens.numbers):
        return Condition(kind, name, _on_numbers(sign, tokens.take()))
    if sign in ("IN", "NOT"):
        if sign == "NOT":
            tokens.expect("IN")
        return Condition(kind, name, _among(_listed(tokens), is_wanted=sign == "IN"))
    return Condition(kind, name, _on_texts(sign, _unquoted(tokens.take()), tokens.work))


def _identifier(tokens: "_Tokens") -> tuple[str, str]:
    word = tokens.take()
    prefix, dot, rest = word.partition(".")
    kind = _KINDS.get(prefix.lower()) if dot else None
    if kind is None:
        kind, rest = "attributes", word
    name = rest[1:-1] if rest[:1] in ("`", '"') and rest[-1:] == rest[:1] else rest
    if kind != "attributes":
        return kind, name
    known = tokens.attributes.get(name.lower())
    if known is None:
        raise Invalid(
            f"{word!r} is not an attribute",
            hint=f"write metrics.NAME, params.NAME, tags.NAME, or one of: {', '.join(sorted(tokens.attributes))}",
        )
    return kind, known


_SIGNS: Mapping[str, Callable[[float, float], bool]] = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "=": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
}


def _on_numbers(sign: str, text: str) -> Callable[[Value], bool]:
    compare = _SIGNS.get(sign)
    if compare is None:
        raise Invalid(f"{sign!r} does not compare numbers", hint="use one of < <= > >= = !=")
    try:
        wanted = float(text)
    except ValueError:
        raise Invalid(f"{text!r} is not a number, and metrics and times are compared with numbers") from None
    return lambda value: isinstance(value, int | float) and compare(value, wanted)


def _on_texts(sign: str, wanted: str, work: Work) -> Callable[[Value], bool]:
    if sign in ("=", "!="):
        return lambda value: value is not None and (str(value) == wanted) is (sign == "=")
    if sign in ("LIKE", "ILIKE"):
        pattern = LikePattern(wanted, work, is_folded=sign == "ILIKE")
        return lambda value: value is not None and pattern.matches(str(value))
    raise Invalid(f"{sign!r} does not compare texts", hint="use one of = != LIKE ILIKE IN, NOT IN, IS NULL")


def _among(wanted: Sequence[str], *, is_wanted: bool) -> Callable[[Value], bool]:
    known = frozenset(wanted)
    return lambda value: value is not None and (str(value) in known) is is_wanted


def _listed(tokens: "_Tokens") -> list[str]:
    tokens.expect("(")
    found = [_unquoted(tokens.take())]
    while tokens.skip(","):
        found.append(_unquoted(tokens.take()))
    tokens.expect(")")
    return found


def _unquoted(text: str) -> str:
    if len(text) >= 2 and text[0] in "'\"" and text[-1] == text[0]:
        return text[1:-1]
    raise Invalid(f"{text!r} needs quotes", hint="texts are written in quotes: params.lr = '0.1'")


class _Tokens:
    def __init__(self, text: str, attributes: Mapping[str, str], numbers: Sequence[str]) -> None:
        self.attributes = attributes
        self.numbers = numbers
        self.work = Work()
        self._text = text
        self._left = list(_split(text))
        self._left.reverse()

    @property
    def is_over(self) -> bool:
        return not self._left

    def take(self) -> str:
        if not self._left:
            raise Invalid(f"{self._text!r} ends too early", hint="a condition is such as metrics.loss < 0.5")
        return self._left.pop()

    def skip(self, word: str) -> bool:
        """Whether this word comes next; then it is taken."""
        if self._left and self._left[-1].upper() == word:
            self._left.pop()
            return True
        return False

    def expect(self, word: str) -> None:
        found = self.take()
        if found.upper() != word:
            raise Invalid(f"{found!r} came where {word} was expected in {self._text!r}")


def _split(text: str) -> Iterator[str]:
    at = 0
    while at < len(text.rstrip()):
        found = _TOKEN.match(text, at)
        if found is None:
            raise Invalid(f"{text!r} cannot be read from {text[at:].strip()[:30]!r} on")
        yield found.group(found.lastgroup or 0)
        at = found.end()
