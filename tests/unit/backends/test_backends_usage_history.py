import pytest

from muster.backends.agents.usage_history import UsageHistory
from muster.ports.capabilities import NodeUsage, TaskUsage

pytestmark = pytest.mark.fast


def a_sample(number: int) -> NodeUsage:
    return NodeUsage(float(number), {"cpu_percent": number, "gpus": []}, {"t": TaskUsage(1.0, 2, 3)}, number + 0.5)


def test_a_ring_keeps_the_newest_samples_and_no_tasks() -> None:
    ring = UsageHistory(kept=3)
    for number in range(5):
        ring.add(a_sample(number))
    assert [(sample.at, sample.received_at, sample.metrics["cpu_percent"]) for sample in ring.since(0)] == [
        (2.0, 2.5, 2),
        (3.0, 3.5, 3),
        (4.0, 4.5, 4),
    ]
    assert not any(sample.tasks for sample in ring.since(0))


def test_a_ring_answers_what_came_after_a_moment() -> None:
    ring = UsageHistory()
    for number in range(5):
        ring.add(a_sample(number))
    assert [sample.at for sample in ring.since(3.5)] == [4.0]
    assert ring.since(9.0) == []
