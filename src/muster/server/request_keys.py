"""Idempotency-Key: a repeated request answers what the first one made."""

import json
from hashlib import sha256
from typing import Annotated, Any

from fastapi import Header

from muster.engine.requests.accounts import Principal
from muster.ports.store import RequestKey

RepeatKey = Annotated[str | None, Header(max_length=200)]


def request_key(me: Principal, given: str | None, request: Any) -> RequestKey | None:
    """The key, bound to what is asked for. The order of keys and the white space of the JSON do not matter."""
    if not given:
        return None
    return RequestKey(me.name, given, sha256(json.dumps(request, sort_keys=True).encode()).hexdigest())
