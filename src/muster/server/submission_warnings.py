"""Adds warnings to the answer of a submission as headers, and relates problems to the text that the submitter wrote."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from fastapi import Response

from muster.domain.errors import Invalid, MusterError
from muster.wire.specs import Reading

HEADER = "Muster-Warning"
_MOST = 30
"""Clients and proxies refuse an answer with too many headers; Python's own client stops at a hundred."""


def with_warnings(response: Response, warnings: Sequence[str]) -> Response:
    """Each warning is one header with a JSON string, because a header is one line of ASCII."""
    shown = list(warnings[:_MOST])
    if len(warnings) > _MOST:
        shown.append(f"and {len(warnings) - _MOST} more; a dry run lists them all")
    for warning in shown:
        response.headers.append(HEADER, json.dumps(warning))
    return response


@contextmanager
def relating_problems_to(reading: Reading) -> Iterator[None]:
    """Problems that are found after the spec was read, by a cluster for example, name the lines and keys of the
    submitter's own file. What was to be said beside success is said beside a refusal, too."""
    try:
        yield
    except MusterError as error:
        error.warnings = reading.warnings
        if isinstance(error, Invalid):
            error.problems = tuple(reading.placed(problem) for problem in error.problems)
        raise
