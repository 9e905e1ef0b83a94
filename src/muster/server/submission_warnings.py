"""What a submitter should hear besides the answer: warnings as headers, problems told of the text that they wrote."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from fastapi import Response

from muster.domain.errors import Invalid
from muster.wire.specs import Reading

HEADER = "Muster-Warning"
_MOST = 30
"""Clients and proxies refuse an answer with too many headers; Python's own stops at a hundred."""


def with_warnings(response: Response, warnings: Sequence[str]) -> Response:
    """One header each, as a JSON string: headers carry ASCII in one line."""
    told = list(warnings[:_MOST])
    if len(warnings) > _MOST:
        told.append(f"and {len(warnings) - _MOST} more; a dry run lists them all")
    for warning in told:
        response.headers.append(HEADER, json.dumps(warning))
    return response


@contextmanager
def told_of_the_text(reading: Reading) -> Iterator[None]:
    """What is refused after reading, by a cluster say, names the lines and keys of the submitter's own file."""
    try:
        yield
    except Invalid as error:
        error.problems = tuple(reading.placed(problem) for problem in error.problems)
        raise
