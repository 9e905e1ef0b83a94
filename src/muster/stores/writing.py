"""What one Change does to the tables, part by part, inside a transaction that somebody else opened."""

from typing import Any

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from muster.domain.errors import Conflict, MusterError, NotFound
from muster.ports.store import Change
from muster.stores.accounts import (
    insert_token,
    insert_user,
    remove_token,
    remove_user,
    update_user,
    why_token_not_inserted,
    why_user_not_inserted,
)
from muster.stores.codec import event_row
from muster.stores.jobs import insert_job, remove_job, update_job, why_not_inserted
from muster.stores.packages import insert_package
from muster.stores.tasks import put_tasks


def perform(connection: Connection, change: Change) -> list[dict[str, Any]]:
    """Write everything but the events; answers their rows, which the committer numbers and writes for a whole batch.

    Removals come first, so that one change can replace a thing.
    """
    _perform_accounts(connection, change)
    if change.removed_job is not None:
        remove_job(connection, change.removed_job)
    if change.new_package is not None:
        insert_package(connection, change.new_package)
    if change.new_job is not None:
        insert_job(connection, change.new_job, change.request_key)
    if change.job is not None:
        update_job(connection, change.job, change.steps)
    if change.tasks:
        put_tasks(connection, change.tasks)
    return [event_row(event) for event in change.events]


def explain(connection: Connection, change: Change, refused: IntegrityError) -> MusterError:
    """Which part the database refused, in words. Asked after the change has been rolled back."""
    found: MusterError | None = None
    if change.new_user is not None:
        found = why_user_not_inserted(connection, change.new_user)
    if found is None and change.new_token is not None:
        found = why_token_not_inserted(connection, change.new_token)
    if found is None and change.new_job is not None:
        found = why_not_inserted(connection, change.new_job, change.request_key)
    if found is None and change.tasks:
        owners = ", ".join(sorted({task.job_id for task in change.tasks}))
        found = NotFound(f"a task belongs to a job that is not there: one of {owners}")
    return found or Conflict(f"the database refused the change: {refused.orig}")


def _perform_accounts(connection: Connection, change: Change) -> None:
    if change.removed_token is not None:
        remove_token(connection, change.removed_token)
    if change.removed_user is not None:
        remove_user(connection, change.removed_user)
    if change.new_user is not None:
        insert_user(connection, change.new_user)
    if change.user is not None:
        update_user(connection, change.user)
    if change.new_token is not None:
        insert_token(connection, change.new_token)
