"""The job file as it was submitted, which clients ask for again. Secrets in it are masked before it is kept."""

import re
from collections.abc import Iterator
from typing import Any

import yaml

from muster.domain.errors import Invalid
from muster.wire.documents import read_document

MASK = "******"
_SECRETS = "secrets"
_CREDENTIALS = "auth"
_MOST = 100
_LONG_ENOUGH = 6
"""A shorter secret is not looked for inside other texts, because it may be a part of any word."""


def kept_text(text: str) -> str:
    """The text itself if it has no secrets. Otherwise its values are written anew without its comments, which may
    repeat a secret."""
    data = read_document(text).data
    hidden = set(_secret_values(data))
    if not hidden:
        return text
    if len(hidden) > _MOST:
        raise Invalid(f"the file has {len(hidden)} secrets, and a job has at most {_MOST}")
    return yaml.safe_dump(_Masking(hidden).masked(data), sort_keys=False, allow_unicode=True)


def _secret_values(data: Any) -> Iterator[str]:
    """The texts that a file keeps secret: all of `secrets`, and the credentials of images."""
    if not isinstance(data, dict):
        return
    yield from _texts(data.get(_SECRETS))
    for prerequisite in data.get("prerequisites") or () if isinstance(data.get("prerequisites"), list) else ():
        if isinstance(prerequisite, dict) and isinstance(auth := prerequisite.get(_CREDENTIALS), dict):
            yield from (text for text in _texts(auth.get("password")) if not text.lstrip().startswith("<%"))


def _texts(value: Any) -> Iterator[str]:
    match value:
        case dict():
            for inner in value.values():
                yield from _texts(inner)
        case list():
            for inner in value:
                yield from _texts(inner)
        case None | bool():
            return
        case _:
            yield str(value)


class _Masking:
    def __init__(self, hidden: set[str]) -> None:
        self._hidden = hidden
        inside = sorted((one for one in hidden if len(one) >= _LONG_ENOUGH), key=len, reverse=True)
        self._inside = re.compile("|".join(map(re.escape, inside))) if inside else None

    def masked(self, value: Any) -> Any:
        """The value without secrets, also where a secret is repeated elsewhere in the file."""
        match value:
            case dict():
                return {key: self.masked(inner) for key, inner in value.items()}
            case list():
                return [self.masked(inner) for inner in value]
            case None | bool():
                return value
            case str():
                return self._without(value)
            case _:
                return MASK if str(value) in self._hidden else value

    def _without(self, text: str) -> str:
        if text in self._hidden:
            return MASK
        return text if self._inside is None else self._inside.sub(MASK, text)
