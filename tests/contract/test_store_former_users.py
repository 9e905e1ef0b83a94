"""What a former user has left belongs to nobody who gets the name later, in every table of the schema."""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import Boolean, Column, Engine, Text, create_engine, insert, select

from muster.domain.accounts import User, UserRole
from muster.domain.alerting.alert_records import AlertPhase, AlertRecord
from muster.domain.alerting.alerts import Severity, Subject, SubjectType
from muster.domain.errors import StaleWrite
from muster.domain.experiments.sweeps import Sweep, SweepPlan
from muster.ports.store import AlertingChange, Change, Store
from muster.stores.accounts import insert_user, remove_user
from muster.stores.database_engines import parse_url
from muster.stores.tables import metadata
from tests.contract.building import a_job

AMY = User("amy", UserRole.USER, 1.0, id="u-1")
NEXT = replace(AMY, id="u-2", created_at=9.0)
NAMES_A_USER = re.compile(r"(.*_)?(user|owner|actor|author|by|creator)")


@pytest.fixture
def engine(store_url: str) -> Iterator[Engine]:
    made = create_engine(parse_url(store_url))
    yield made
    made.dispose()


def test_no_table_names_a_former_user_like_the_next_one(engine: Engine) -> None:
    """Columns that name a user by the name are known by their own names. Foreign keys to users go with them."""
    naming = [
        column
        for table in metadata.sorted_tables
        for column in table.c
        if NAMES_A_USER.fullmatch(column.name) and not column.foreign_keys
    ]
    with engine.begin() as connection:
        insert_user(connection, AMY)
        for table in [one for one in metadata.sorted_tables if one.name != "users"]:
            connection.execute(insert(table), {column.name: _a_value(column) for column in table.c})
        remove_user(connection, "amy")
        insert_user(connection, NEXT)
        left = {str(column): set(connection.execute(select(column)).scalars()) for column in naming}
    assert left == {str(column): {"amy~u-1"} for column in naming}
    assert {"sweeps.owner", "models.owner", "alerts.owner", "jobs.owner"} <= left.keys()


def _a_value(column: Column[Any]) -> Any:
    if column.foreign_keys:
        return "amy" if column.name == "user" else _a_value(next(iter(column.foreign_keys)).column)
    if NAMES_A_USER.fullmatch(column.name):
        return "amy"
    if isinstance(column.type, Text):
        return "x"
    return False if isinstance(column.type, Boolean) else 1


@pytest.mark.anyio
async def test_alerts_of_a_former_user_are_not_those_of_the_next_one(store: Store) -> None:
    subject = Subject(SubjectType.JOB, "train", "lab", id="id-1")
    record = AlertRecord("a1", "JobHung", Severity.WARNING, subject, AlertPhase.FIRING, "", 5.0, owner="amy")
    firing = replace(record, fired_at=5.0)
    await store.apply_all([Change(new_user=AMY), Change(alerting=AlertingChange(alerts=[firing]))])
    await store.apply_all([Change(removed_user="amy"), Change(new_user=NEXT)])
    assert await store.alert_history(owner="amy", since=0.0, until=99.0, rule=None, limit=9) == []
    assert [one.owner for one in await store.open_alerts()] == ["amy~u-1"]


@pytest.mark.anyio
async def test_a_sweep_is_not_carried_on_in_the_name_of_the_next_user(store: Store) -> None:
    sweep = Sweep("s1", "amy", a_job().spec, SweepPlan(grid=(("lr", (1, 2)),)), 2.0)
    await store.apply_all([Change(new_user=AMY), Change(new_sweep=sweep)])
    await store.apply_all([Change(removed_user="amy"), Change(new_user=NEXT)])
    with pytest.raises(StaleWrite):
        await store.apply(Change(sweep=replace(sweep, made=1, version=sweep.version + 1)))
    assert (await store.sweep("s1")).owner == "amy~u-1"
