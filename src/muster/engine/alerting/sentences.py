"""Sentences with places for names and figures, of which some may not be known."""

import re
from collections.abc import Mapping, Sequence

PLACE = re.compile(r"{([\w|]+)}")


def first_complete(sentences: Sequence[str], values: Mapping[str, object]) -> str:
    """The first sentence whose names are all known, filled in; empty if there is none. `{a|b}` is the one that is
    known."""
    for sentence in sentences:
        known = {place: _value(place, values) for place in PLACE.findall(sentence)}
        if all(known.values()):
            return _filled(sentence, known)
    return ""


def _filled(sentence: str, known: Mapping[str, str]) -> str:
    return PLACE.sub(lambda place: known[place[1]], sentence)


def _value(place: str, values: Mapping[str, object]) -> str:
    return next((text for name in place.split("|") if (text := str(values.get(name, "")))), "")
