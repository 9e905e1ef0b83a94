"""Reads the body of the busiest call.

The framework's own parsing of a body costs more than everything else that a submission does, so this call parses its
body itself. A body that cannot be parsed is refused with the same problem.
"""

from typing import Any

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError

from muster.wire.requests import SubmitIn

SUBMISSION_DOCUMENTED: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/SubmitIn"}}},
    }
}


async def read_submission(request: Request) -> SubmitIn:
    try:
        return SubmitIn.model_validate_json(await request.body())
    except ValidationError as error:
        problems = error.errors(include_url=False, include_context=False, include_input=False)
        raise RequestValidationError([{**item, "loc": ("body", *item["loc"])} for item in problems]) from None
