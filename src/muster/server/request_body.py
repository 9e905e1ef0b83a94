"""Reads the body of the busiest call.

The framework's own parsing of a body costs more than everything else that a submission does, so this call parses its
body itself. A body that cannot be parsed is refused with the same problem.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError

from muster.domain.errors import Unavailable
from muster.lib.work_pool import PoolFull, WorkPool
from muster.server.services import services_of
from muster.wire.documents import refuse_too_much
from muster.wire.requests import SubmitIn
from muster.wire.spec_problems import MAX_PROBLEMS

T = TypeVar("T")
SUBMISSION_DOCUMENTED: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/SubmitIn"}}},
    }
}


LONG_BYTES = 64 << 10
"""A longer body is parsed in a thread, so that nobody else waits for it."""


@dataclass(frozen=True, slots=True)
class Submitted:
    body: SubmitIn
    is_long: bool


async def read_submission(request: Request) -> Submitted:
    raw = await request.body()
    if len(raw) <= LONG_BYTES:
        return Submitted(_parsed(raw), is_long=False)
    return Submitted(await off_the_loop(services_of(request).parsing, _bounded, raw), is_long=True)


async def off_the_loop(pool: WorkPool, work: Callable[..., T], *arguments: Any) -> T:
    try:
        return await pool.run(work, *arguments)
    except PoolFull:
        raise Unavailable("the server is reading too many long requests", retry_after_s=2.0) from None


def _bounded(raw: bytes) -> SubmitIn:
    body = _parsed(raw)
    refuse_too_much(body.spec)
    return body


def _parsed(raw: bytes) -> SubmitIn:
    try:
        return SubmitIn.model_validate_json(raw)
    except ValidationError as error:
        problems = error.errors(include_url=False, include_input=False)[:MAX_PROBLEMS]
        raise RequestValidationError([{**item, "loc": ("body", *item["loc"])} for item in problems]) from None
