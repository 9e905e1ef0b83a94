"""How much of a curve is read when a batch of points comes."""

import sqlite3

import pytest
from sqlalchemy import create_engine, insert

from muster.domain.experiments.job_metrics import MetricBatch, MetricLimits, MetricPoint
from muster.stores import job_metrics
from muster.stores.tables import jobs, metadata

pytestmark = pytest.mark.fast
_STEPS_COUNTED_AT_ONCE = 100


def test_two_points_at_the_ends_of_a_long_curve_do_not_read_all_of_it() -> None:
    engine = create_engine("sqlite://")
    metadata.create_all(engine)
    needed = {
        column.name: column.type.python_type(1)
        for column in jobs.c
        if not column.nullable and column.server_default is None
    }
    with engine.begin() as connection:
        connection.execute(insert(jobs).values({**needed, "id": "job"}))
        limits = MetricLimits(points=100_000)
        whole = [MetricPoint("loss", step, 1.0, 0.5) for step in range(20_000)]
        job_metrics.store_metrics(connection, MetricBatch("job", 1, whole, limits=limits))
        work: list[None] = []
        driver = connection.connection.driver_connection
        assert isinstance(driver, sqlite3.Connection)
        driver.set_progress_handler(lambda: work.append(None), _STEPS_COUNTED_AT_ONCE)
        ends = [whole[0], MetricPoint("loss", 30_000, 1.0, 0.5)]
        job_metrics.store_metrics(connection, MetricBatch("job", 1, ends, limits=limits))
        driver.set_progress_handler(None, 0)
        (series,) = job_metrics.series_of(connection, ["job"])
    assert series.points == len(whole) + 1
    assert len(work) * _STEPS_COUNTED_AT_ONCE < len(whole)
