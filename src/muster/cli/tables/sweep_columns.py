"""The columns of sweeps and their members."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from muster.cli.tables.ages import ago
from muster.cli.tables.colours import state_colour
from muster.cli.tables.text_tables import Column
from muster.client.sweep_views import MemberView, SweepView
from muster.lib.quantities import about_duration


def sweep_columns(sweeps: Sequence[SweepView] = ()) -> list[Column[SweepView]]:
    """Every member counts in one of the columns. Those for the rare cases are there only if they are needed."""
    now = datetime.now(UTC)
    columns: list[Column[SweepView]] = [
        Column("NAME", lambda one: one.name),
        Column("ID", lambda one: one.id, wide=True),
        Column("OWNER", lambda one: one.owner),
        Column("STATE", lambda one: one.state, colour=state_colour),
        Column("MEMBERS", lambda one: one.members, right=True),
        Column("SUCC", lambda one: one.succeeded, right=True),
        Column("FAIL", lambda one: one.failed, right=True),
        Column("CANCELLED", lambda one: one.cancelled, right=True),
        Column("ACTIVE", lambda one: one.active, right=True),
        Column("WAIT", lambda one: one.waiting, right=True),
    ]
    if any(one.never_made for one in sweeps):
        columns.append(Column("NEVER MADE", lambda one: one.never_made, right=True))
    if any(one.deleted for one in sweeps):
        columns.append(Column("DELETED", lambda one: one.deleted, right=True))
    columns.append(Column("CREATED", lambda one: ago(one.created_at, now)))
    columns.append(Column("END", lambda one: ago(one.ended_at, now)))
    return columns


def member_columns(params: Sequence[str], metric: str) -> list[Column[MemberView]]:
    now = datetime.now(UTC)
    columns: list[Column[MemberView]] = [
        Column("NAME", lambda one: one.name),
        Column("JOB", lambda one: one.job, wide=True),
        Column("STATE", lambda one: one.state, colour=state_colour),
    ]
    columns += [_param_of_member(name) for name in params]
    if metric:
        columns.append(
            Column(metric.upper(), lambda one: "NaN" if one.has_diverged else value_text(one.value), right=True)
        )
        columns.append(Column("STEP", lambda one: one.step, right=True))
    columns.append(Column("DURATION", lambda one: _duration(one, now), right=True))
    columns.append(Column("REASON", lambda one: one.reason))
    return columns


def param_columns(params: Sequence[str]) -> list[Column[Any]]:
    """The columns with the params of members that are not made yet."""
    return [_param_of_mapping(name) for name in params]


def params_text(params: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in params.items())


def value_text(value: float | None) -> str | None:
    return None if value is None else f"{value:.6g}"


def _param_of_member(name: str) -> Column[MemberView]:
    return Column(name.upper(), lambda one: one.params.get(name), right=True)


def _param_of_mapping(name: str) -> Column[Any]:
    return Column(name.upper(), lambda one: one["params"].get(name), right=True)


def _duration(one: MemberView, now: datetime) -> str | None:
    if one.started_at is None:
        return None
    return about_duration(max(0.0, ((one.ended_at or now) - one.started_at).total_seconds()))
