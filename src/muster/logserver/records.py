"""Records as servers send them: the fields that every record has, and the checks of a request.

A record is known by its receiver, which is the server that sends it, and its number there. Everything else is kept as
it came.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StrictInt, StrictStr, TypeAdapter, ValidationError
from pydantic_core import from_json, to_json

MAX_BODY_BYTES = 32 << 20
MAX_RECORD_BYTES = 8 << 20
MAX_RECORDS = 10_000
_PROBLEMS_SHOWN = 10
_LAST_NUMBER = (1 << 63) - 1

_Word = Annotated[StrictStr, Field(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9._:-]+$")]
_Text = Annotated[StrictStr, Field(max_length=2048)]


class BadRecords(ValueError):
    """A request that will never be taken, with what is wrong with it."""

    def __init__(
        self, message: str, problems: list[dict[str, str]] | None = None, *, is_too_large: bool = False
    ) -> None:
        super().__init__(message)
        self.problems = problems or []
        self.is_too_large = is_too_large


class _RecordIn(BaseModel):
    """The fields that are searched for. A record may have any others."""

    model_config = ConfigDict(extra="ignore")

    receiver: _Word
    seq: Annotated[StrictInt, Field(ge=1, le=_LAST_NUMBER)]
    kind: _Word
    at: Annotated[StrictStr, Field(max_length=64, pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d")]
    server: _Text = ""
    jobId: _Text = ""
    name: _Text = ""
    owner: _Text = ""
    cluster: _Text = ""
    state: _Text = ""


class _RequestIn(BaseModel):
    records: Annotated[list[dict[str, Any]], Field(max_length=MAX_RECORDS)]


_CHECK = TypeAdapter(list[_RecordIn])


@dataclass(frozen=True, slots=True)
class Record:
    receiver: str
    seq: int
    body: Mapping[str, Any]
    line: bytes
    """The body as JSON, with a newline."""

    @property
    def key(self) -> tuple[str, int]:
        return self.receiver, self.seq

    @property
    def job_id(self) -> str:
        return str(self.body.get("jobId") or "")


def read_request(body: bytes) -> list[Record]:
    """The records of a request. Raises BadRecords, with every problem and its place."""
    try:
        request = _RequestIn.model_validate(from_json(body, allow_inf_nan=False), strict=True)
        _CHECK.validate_python(request.records)
    except ValidationError as error:
        raise BadRecords("these are not records", _problems(error)) from None
    except ValueError as error:
        raise BadRecords(f"the request is not JSON: {error}") from None
    return [_record(number, one) for number, one in enumerate(request.records)]


def read_line(line: bytes) -> Record:
    """A record from the file. Raises ValueError if the line is none."""
    body = from_json(line, allow_inf_nan=False)
    _CHECK.validate_python([body])
    return Record(body["receiver"], body["seq"], body, line)


def _record(number: int, body: dict[str, Any]) -> Record:
    try:
        line = to_json(body) + b"\n"
    except ValueError as error:
        raise BadRecords(f"records.{number} cannot be written as JSON: {error}") from None
    if len(line) > MAX_RECORD_BYTES:
        message = f"records.{number} has {len(line)} bytes, and {MAX_RECORD_BYTES} are allowed"
        raise BadRecords(message, is_too_large=True)
    return Record(body["receiver"], body["seq"], body, line)


def _problems(error: ValidationError) -> list[dict[str, str]]:
    found = error.errors(include_url=False, include_input=False, include_context=False)
    return [
        {"path": ".".join(map(str, one["loc"])) or "body", "message": one["msg"]} for one in found[:_PROBLEMS_SHOWN]
    ]
