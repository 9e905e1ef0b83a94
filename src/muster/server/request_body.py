"""Reading the body of the busiest call. The framework's own reading of a body costs more than all that a submission
does otherwise, so this call reads its own; a body that cannot be read is refused in the same words."""

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
