"""Writes Changes to the tables, inside a transaction that the caller has opened."""

from collections.abc import Sequence

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from muster.domain.errors import Conflict, MusterError, NotFound
from muster.domain.secrets import job_secrets_owner
from muster.ports.store import Change
from muster.stores.accounts import (
    insert_token,
    insert_user,
    note_token_use,
    remove_token,
    remove_user,
    update_user,
    why_token_not_inserted,
    why_user_not_inserted,
)
from muster.stores.alerting import write_alerting
from muster.stores.experiments import put_experiment, why_experiment_not_put
from muster.stores.identities import insert_identity, remove_identity, why_identity_not_inserted
from muster.stores.job_metrics import store_metrics
from muster.stores.job_notes import put_notes, remove_notes
from muster.stores.jobs import insert_jobs, remove_job, rewrite_job, update_jobs, why_not_inserted
from muster.stores.log_outbox import drop_oldest, remove_delivered
from muster.stores.models import insert_model, remove_models, why_model_not_inserted
from muster.stores.node_marks import put_mark, remove_mark
from muster.stores.packages import insert_package, remove_package
from muster.stores.secrets import put_secret, remove_secret, remove_secrets_of, remove_secrets_of_job
from muster.stores.sweeps import insert_sweep, remove_empty_sweeps, update_sweep, why_sweep_not_inserted
from muster.stores.tasks import put_tasks
from muster.stores.templates import insert_template, remove_template, why_template_not_inserted


def perform(connection: Connection, changes: Sequence[Change]) -> None:
    """Writes everything but the events, which the committer numbers.

    Consecutive changes that only submit or update jobs are written together, with one statement per table. This may
    refuse changes that would pass one by one (if one frees a name that the next one takes), but never the reverse. So a
    caller whose changes are refused should write them again one by one.
    """
    gathered: list[Change] = []
    for change in changes:
        if not _touches_only_jobs(change):
            _write_together(connection, gathered)
            gathered = []
            _write_others(connection, change)
        gathered.append(change)
    _write_together(connection, gathered)


def explain(connection: Connection, change: Change, refused: IntegrityError) -> MusterError:
    """Says which part of the change the database refused. It runs after the change has been rolled back."""
    found: MusterError | None = None
    if change.new_user is not None:
        found = why_user_not_inserted(connection, change.new_user)
    if found is None and change.new_token is not None:
        found = why_token_not_inserted(connection, change.new_token)
    if found is None and change.new_identity is not None:
        found = why_identity_not_inserted(connection, change.new_identity)
    if found is None and change.template is not None:
        found = why_template_not_inserted(connection, change.template)
    if found is None and change.new_model is not None:
        found = why_model_not_inserted(connection, change.new_model)
    if found is None and change.experiment is not None:
        found = why_experiment_not_put(connection, change.experiment)
    if found is None and change.new_sweep is not None:
        found = why_sweep_not_inserted(connection, change.new_sweep, change.sweep_key)
    if found is None and change.new_job is not None:
        found = why_not_inserted(connection, change.new_job, change.request_key)
    if found is None and change.tasks:
        owners = ", ".join(sorted({task.job_id for task in change.tasks}))
        found = NotFound(f"a task belongs to a job that does not exist; it is one of {owners}")
    return found or Conflict(f"the database refused the change: {refused.orig}")


def _touches_only_jobs(change: Change) -> bool:
    others = (
        *(change.rewritten_job, change.removed_job, change.new_user, change.user, change.removed_user),
        *(change.new_token, change.removed_token, change.used_token),
        *(change.new_identity, change.removed_identity, change.new_package, change.removed_package),
        *(change.node_mark, change.unmarked_node, change.secret, change.removed_secret),
        *(change.template, change.removed_template, change.delivered, change.kept_records, change.metrics),
        *(change.new_sweep, change.sweep, change.emptied_sweeps_before, change.new_model, change.alerting),
        change.experiment,
    )
    several = (change.secrets, change.notes, change.removed_notes, change.removed_models)
    return all(part is None for part in others) and not any(several)


def _write_together(connection: Connection, changes: Sequence[Change]) -> None:
    if new := [(change.new_job, change.request_key) for change in changes if change.new_job is not None]:
        insert_jobs(connection, new)
    if moved := [(change.job, change.steps) for change in changes if change.job is not None]:
        update_jobs(connection, moved)
    for change in changes:
        if change.job is not None and change.job.is_final and change.job.spec.ssh is not None:
            remove_secrets_of(connection, job_secrets_owner(change.job.id))
    if tasks := [task for change in changes for task in change.tasks]:
        put_tasks(connection, tasks)


def _write_others(connection: Connection, change: Change) -> None:
    """Removals come first, so that one change can replace an object."""
    if change.removed_token is not None:
        remove_token(connection, change.removed_token)
    if change.removed_identity is not None:
        remove_identity(connection, change.removed_identity)
    if change.removed_user is not None:
        remove_user(connection, change.removed_user)
    if change.removed_job is not None:
        remove_job(connection, change.removed_job)
        remove_secrets_of_job(connection, change.removed_job)
    if change.rewritten_job is not None:
        rewrite_job(connection, change.rewritten_job, change.steps)
    if change.new_user is not None:
        insert_user(connection, change.new_user)
    if change.user is not None:
        update_user(connection, change.user)
    if change.new_token is not None:
        insert_token(connection, change.new_token)
    if change.new_identity is not None:
        insert_identity(connection, change.new_identity)
    if change.used_token is not None:
        note_token_use(connection, *change.used_token)
    if change.removed_package is not None:
        remove_package(connection, change.removed_package)
    if change.new_package is not None:
        insert_package(connection, change.new_package)
    if change.unmarked_node is not None:
        remove_mark(connection, *change.unmarked_node)
    if change.node_mark is not None:
        put_mark(connection, change.node_mark)
    if change.removed_secret is not None:
        remove_secret(connection, *change.removed_secret)
    if change.secret is not None:
        put_secret(connection, change.secret)
    for secret in change.secrets:
        put_secret(connection, secret)
    if change.removed_template is not None:
        remove_template(connection, change.removed_template)
    if change.template is not None:
        insert_template(connection, change.template, change.kept_versions)
    if change.delivered is not None:
        remove_delivered(connection, change.delivered)
    if change.kept_records is not None:
        drop_oldest(connection, change.kept_records)
    if change.metrics is not None:
        store_metrics(connection, change.metrics)
    if change.removed_notes:
        remove_notes(connection, change.removed_notes)
    if change.notes:
        put_notes(connection, change.notes)
    if change.experiment is not None:
        put_experiment(connection, change.experiment)
    if change.new_sweep is not None:
        insert_sweep(connection, change.new_sweep, change.sweep_key)
    if change.sweep is not None:
        update_sweep(connection, change.sweep)
    if change.emptied_sweeps_before is not None:
        remove_empty_sweeps(connection, change.emptied_sweeps_before)
    if change.new_model is not None:
        insert_model(connection, change.new_model)
    if change.removed_models:
        remove_models(connection, change.removed_models)
    if change.alerting is not None:
        write_alerting(connection, change.alerting)
