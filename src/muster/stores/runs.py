"""Reads jobs as experiments: few columns of many rows, with parameters, notes and the summaries of metrics.

Ten thousand of them are read while somebody waits, so rows are fetched all at once and taken apart by position, and
nothing is read that is not asked for.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pydantic import TypeAdapter
from pydantic_core import from_json
from sqlalchemy import Connection, Select, func, select

from muster.domain.experiments.runs import CODE_LABELS, Run, RunMetric, RunValues
from muster.domain.job_notes import NoteKind
from muster.domain.used_resources import UsageSum
from muster.ports.store import JobFilter
from muster.stores.job_listing import conditions_of
from muster.stores.octets import octets
from muster.stores.tables import job_labels, job_notes, jobs, metric_series

_USED = TypeAdapter(UsageSum)
_RUN = (
    *(jobs.c.id, jobs.c.name, jobs.c.owner, jobs.c.cluster, jobs.c.vc, jobs.c.state, jobs.c.reason),
    *(jobs.c.created_at, jobs.c.started_at, jobs.c.ended_at, jobs.c.ran_s, jobs.c.sort_gpu_m),
    *(jobs.c.package, jobs.c.tracking_url, jobs.c.attempt, jobs.c.running_since, jobs.c.used, jobs.c.params),
)
_NEWEST = (jobs.c.created_at.desc(), jobs.c.id.desc())
_NONE: dict[str, Any] = {}
_METRIC = (
    *(metric_series.c.job_id, metric_series.c.name, metric_series.c.last_special),
    *(metric_series.c.points, metric_series.c.last_step, metric_series.c.last_value),
    *(metric_series.c.lowest_value, metric_series.c.highest_value),
)
_RUN_BYTES, _METRIC_BYTES, _NOTE_BYTES = 1000, 150, 20
"""About what a run has in an answer besides its notes and metrics, a metric besides its name, and a note besides its
name and value."""


def runs(connection: Connection, where: JobFilter, limit: int, metrics: Sequence[str] = ()) -> list[Run]:
    """Return the newest runs, without what is only in their specs."""
    chosen = _chosen(where, limit)
    return _runs(connection, chosen, _metrics(connection, chosen, metrics), _labels_of_code(connection, chosen))


def whole_runs(connection: Connection, where: JobFilter, limit: int, metrics: Sequence[str] = ()) -> list[Run]:
    chosen = _chosen(where, limit)
    rows = connection.execute(select(jobs.c.id, jobs.c.spec).where(jobs.c.id.in_(chosen)))
    specs = {job_id: from_json(spec) for job_id, spec in rows}
    labels = {job_id: spec.get("labels") or _NONE for job_id, spec in specs.items()}
    found = _runs(connection, chosen, _metrics(connection, chosen, metrics), labels)
    return [replace(run, env=specs[run.id].get("env") or _NONE) for run in found]


def run_outlines(
    connection: Connection, where: JobFilter, limit: int, metrics: Sequence[str], notes: Sequence[str]
) -> list[Run]:
    chosen = _chosen(where, limit)
    return _runs(connection, chosen, _metrics(connection, chosen, metrics) if metrics else {}, {}, notes)


def run_values(
    connection: Connection, where: JobFilter, limit: int, metrics: Sequence[str], params: Sequence[str]
) -> list[RunValues]:
    """Return of the newest runs what they are chosen by. Nothing else is read, so that many thousands take little."""
    chosen = _chosen(where, limit)
    reported = _metrics(connection, chosen, metrics) if metrics else {}
    noted = _notes(connection, chosen, NoteKind.PARAM, params) if params else {}
    columns = [jobs.c.id, jobs.c.created_at, *([jobs.c.params] if params else [])]
    found = select(*columns).where(*conditions_of(where)).order_by(*_NEWEST).limit(limit)
    made: list[RunValues] = []
    for job_id, created_at, *given in connection.execute(found):  # one by one: each may have many parameters
        values = _only(from_json(given[0]), params) if given else _NONE
        if job_id in noted:
            values |= noted[job_id]
        made.append(RunValues(job_id, created_at, values, reported.get(job_id, _NONE)))
    return made


def run_bytes(
    connection: Connection, job_ids: Sequence[str], metrics: Sequence[str], *, with_specs: bool
) -> dict[str, int]:
    of_job = select(jobs.c.id, octets(jobs.c.spec if with_specs else jobs.c.params) + _RUN_BYTES)
    noted = octets(job_notes.c.key) + octets(job_notes.c.value) + _NOTE_BYTES
    of_notes = select(job_notes.c.job_id, func.sum(noted)).group_by(job_notes.c.job_id)
    of_metrics = select(metric_series.c.job_id, func.sum(octets(metric_series.c.name) + _METRIC_BYTES))
    if metrics:
        of_metrics = of_metrics.where(metric_series.c.name.in_(metrics))
    found = {job_id: int(size) for job_id, size in connection.execute(of_job.where(jobs.c.id.in_(job_ids)))}
    for query in (
        of_notes.where(job_notes.c.job_id.in_(job_ids)),
        of_metrics.where(metric_series.c.job_id.in_(job_ids)).group_by(metric_series.c.job_id),
    ):
        for job_id, size in connection.execute(query):
            if job_id in found:
                found[job_id] += int(size)
    return found


def _only(params: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    return {name: params[name] for name in names if name in params}


def _chosen(where: JobFilter, limit: int) -> Select[Any]:
    return select(jobs.c.id).where(*conditions_of(where)).order_by(*_NEWEST).limit(limit)


def _runs(
    connection: Connection,
    chosen: Select[Any],
    reported: Mapping[str, Mapping[str, RunMetric]],
    labels: Mapping[str, Mapping[str, str]],
    names: Sequence[str] | None = None,
) -> list[Run]:
    """Reads runs; with `names`, only their parameters and tags of these names."""
    given, tags = (_notes(connection, chosen, kind, names) for kind in (NoteKind.PARAM, NoteKind.TAG))
    found = select(*_RUN).where(jobs.c.id.in_(chosen)).order_by(*_NEWEST)
    made: list[Run] = []
    for row in connection.execute(found).all():
        job_id, params = row[0], from_json(row[-1])
        if names is not None:
            params = _only(params, names)
        if job_id in given:
            params |= given[job_id]
        used = None if row[-2] is None else _USED.validate_json(row[-2])
        noted, metrics_of_run = tags.get(job_id, _NONE), reported.get(job_id, _NONE)
        values: list[Any] = [*row[:-3], used, params, noted, metrics_of_run, _NONE, labels.get(job_id, _NONE), row[-3]]
        made.append(Run(*values))
    return made


def _metrics(connection: Connection, chosen: Select[Any], names: Sequence[str]) -> dict[str, dict[str, RunMetric]]:
    query = select(*_METRIC).where(metric_series.c.job_id.in_(chosen))
    if names:
        query = query.where(metric_series.c.name.in_(names))
    found: dict[str, dict[str, RunMetric]] = {}
    # Those of later attempts come last, and count.
    order = (metric_series.c.job_id, metric_series.c.attempt)
    for job_id, name, special, points, step, last, lowest, highest in connection.execute(query.order_by(*order)).all():
        value = float(special) if special else last
        found.setdefault(job_id, {})[name] = RunMetric(points, step, value, lowest, highest)
    return found


def _notes(
    connection: Connection, chosen: Select[Any], kind: NoteKind, names: Sequence[str] | None = None
) -> dict[str, dict[str, str]]:
    columns = job_notes.c.job_id, job_notes.c.key, job_notes.c.value
    query = select(*columns).where(job_notes.c.job_id.in_(chosen), job_notes.c.kind == str(kind))
    if names is not None:
        query = query.where(job_notes.c.key.in_(names))
    found: dict[str, dict[str, str]] = {}
    for job_id, key, value in connection.execute(query).all():
        found.setdefault(job_id, {})[key] = value
    return found


def _labels_of_code(connection: Connection, chosen: Select[Any]) -> dict[str, dict[str, str]]:
    columns = job_labels.c.job_id, job_labels.c.key, job_labels.c.value
    query = select(*columns).where(job_labels.c.job_id.in_(chosen), job_labels.c.key.in_(CODE_LABELS))
    found: dict[str, dict[str, str]] = {}
    for job_id, key, value in connection.execute(query):
        found.setdefault(job_id, {})[key] = value
    return found
