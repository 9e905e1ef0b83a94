"""Reads request bodies, which OpenPAI's clients send as JSON or as a form."""

import json
from typing import Any
from urllib.parse import parse_qsl

from fastapi import Request

from muster.server.compatibility.openpai.errors import PaiError

_FORM = "application/x-www-form-urlencoded"
_MAX_FIELDS = 100


async def fields_of(request: Request) -> dict[str, Any]:
    raw = await request.body()
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() == _FORM:
        return _form(raw)
    try:
        found = json.loads(raw or b"{}")
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise PaiError(400, "InvalidParametersError", "the body must be a JSON object or a form")
    return found


async def text_field(request: Request, name: str) -> str:
    value = (await fields_of(request)).get(name)
    if not isinstance(value, str) or not value:
        raise PaiError(400, "InvalidParametersError", f"{name} is required, and is a text")
    return value


def _form(raw: bytes) -> dict[str, Any]:
    try:
        return dict(parse_qsl(raw.decode(), keep_blank_values=True, max_num_fields=_MAX_FIELDS))
    except ValueError:
        raise PaiError(400, "InvalidParametersError", "the form cannot be read") from None
