"""Hides what looks like a password or a token in a job's spec. Secrets that Muster keeps are not in it anyway; this is
for those that somebody wrote into a variable, a parameter or a command."""

import re
from typing import Any

MASK = "********"
_NAMES = r"pass(?:word|wd|phrase)?|pwd|psw|secret|token|credentials?|api_?key|access_?key|private_?key|auth"
_NAME = re.compile(rf"(?i)(?:^|[_.-])(?:{_NAMES})(?:$|[_.-])|(?:password|passwd|secret|token|apikey)$")
_ASSIGNED = re.compile(rf"(?i)((?<![A-Za-z0-9])[\w-]*(?:{_NAMES})\s*[=:]\s*|--?[\w-]*(?:{_NAMES})\s+)([^\s'\";&|]+)")
_BEARER = re.compile(r"(?i)(bearer\s+)[^\s'\"]+")
_IN_ADDRESS = re.compile(r"(\w://[^\s/:@\"']*:)[^\s/@\"']+@")
_OF_VALUES = ("env", "params", "labels")


def masked_spec(value: Any, key: str = "", *, is_value: bool = False) -> Any:
    """The document with the same shape. Numbers and words of the spec itself stay as they are."""
    if isinstance(value, dict):
        return {name: masked_spec(one, str(name), is_value=key in _OF_VALUES) for name, one in value.items()}
    if is_value and value not in (None, "") and _NAME.search(key):
        return MASK
    if isinstance(value, list | tuple):
        return [masked_spec(one) for one in value]
    return _masked_text(value) if isinstance(value, str) else value


def _masked_text(text: str) -> str:
    text = _IN_ADDRESS.sub(rf"\1{MASK}@", text)
    return _ASSIGNED.sub(rf"\g<1>{MASK}", _BEARER.sub(rf"\1{MASK}", text))
