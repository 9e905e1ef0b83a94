"""What the client makes of the server's answers, older servers' too."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, cast

import pytest

from muster.api.jobs import TaskOut
from muster.api.nodes import ClusterOut
from muster.client.node_views import ClusterView
from muster.client.views import TaskView

pytestmark = pytest.mark.fast


def test_a_task_that_waits_in_an_engine_says_why_and_until_when() -> None:
    said = {"waitReason": "Priority", "estimatedStart": "2026-01-02T03:04:05.000Z"}
    task = task_view({"name": "a-worker-0", "state": "Waiting", **said})
    assert not task.ended
    assert (task.wait_reason, task.estimated_start) == ("Priority", datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC))
    placed = task_view({"name": "a-worker-0", "state": "Running"})
    assert (placed.wait_reason, placed.estimated_start) == ("", None)


def test_a_cluster_says_what_it_offers_and_who_places_tasks() -> None:
    cluster = cluster_view({"name": "hpc", "capabilities": ["logs", "outputs"], "placement": "engine"})
    assert (cluster.capabilities, cluster.placement) == (("logs", "outputs"), "engine")
    older = cluster_view({"name": "lab"})
    assert (older.capabilities, older.placement) == ((), "muster")


def task_view(raw: Mapping[str, Any]) -> TaskView:
    return TaskView.of(cast("TaskOut", raw))


def cluster_view(raw: Mapping[str, Any]) -> ClusterView:
    return ClusterView.of(cast("ClusterOut", raw))
