"""The cursors of pages of jobs: where the last job of a page is in the order of the pages."""

import base64
import json
import math
from typing import Any

from muster.domain.errors import Invalid
from muster.ports.store import NEWEST_FIRST, JobOrder, JobSort

Position = tuple[Any, ...]
"""The creation time and the id of a job; in another order, what the pages are sorted by is before them."""


def cursor_of(order: JobOrder, value: object, created_at: float, job_id: str) -> str:
    if order == NEWEST_FIRST:
        return _encoded(f"{created_at!r} {job_id}")
    return _encoded(json.dumps([order.by, order.is_descending, value, created_at, job_id]))


def position_of(cursor: str, order: JobOrder) -> Position:
    """Raises Invalid if the cursor is not one of a page in this order."""
    try:
        text = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True).decode()
        found = _of_newest(text) if order == NEWEST_FIRST else _of_order(text, order)
    except ValueError:
        found = None
    if found is None:
        raise Invalid(
            "the cursor is not valid", hint="pass the nextCursor of the previous page in the same order, or no cursor"
        )
    return found


def _of_newest(text: str) -> Position | None:
    instant, job_id = text.split(" ", 1)
    return _checked(float(instant), job_id)


def _of_order(text: str, order: JobOrder) -> Position | None:
    given = json.loads(text)
    if not isinstance(given, list) or len(given) != 5 or given[:2] != [order.by, order.is_descending]:
        return None
    _, _, value, created_at, job_id = given
    if not isinstance(created_at, float) or not isinstance(job_id, str):
        return None
    place = _checked(created_at, job_id)
    if place is None or order.by is JobSort.CREATED:
        return place
    if order.by.is_text:
        return (value, *place) if isinstance(value, str) and _is_storable(value) else None
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= 1e16
    return (value, *place) if is_number else None


def _checked(created_at: float, job_id: str) -> Position | None:
    if not math.isfinite(created_at) or not job_id or not _is_storable(job_id):
        return None
    return created_at, job_id


def _is_storable(text: str) -> bool:
    """JSON may contain halves of characters, which no database takes."""
    return not any(character == "\0" or "\ud800" <= character <= "\udfff" for character in text)


def _encoded(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")
