"""What is in use on a node is divided between Muster's own jobs and those of others."""

import pytest

from muster.backends.slurm.answers.amounts import Amounts
from muster.backends.slurm.answers.job_facts import JobFacts
from muster.backends.slurm.answers.job_records import Held
from muster.backends.slurm.answers.node_tables import read_nodes, read_partitions
from muster.backends.slurm.answers.queries import Jobs, Machines
from muster.backends.slurm.cluster_view import ClusterView
from muster.backends.slurm.gang_marks import Begin, GangMarks, TaskMarks
from muster.backends.slurm.node_use import own_use
from muster.backends.slurm.options import SlurmOptions
from muster.domain.nodes import EngineUse, Node, OthersUse
from tests.unit.slurm.samples import recorded

pytestmark = pytest.mark.fast
MIB = 1 << 20


def gang(*nodes: str, role: str = "worker", gpus: int = 0) -> GangMarks:
    """A gang of one role with a task that has begun on each of these nodes. An empty name: it has not begun."""
    tasks = tuple(
        TaskMarks(f"j.1.{role}.{index}", Begin(1.0, node) if node else None) for index, node in enumerate(nodes)
    )
    return GangMarks("j.1", "7", "j", tasks, task_gpus={role: gpus})


def running(*held: Held) -> Jobs:
    return Jobs({"7": JobFacts("7", is_allocated=True, held=held)})


def shown(own: dict[str, Amounts]) -> dict[str, Node]:
    machines = Machines(
        tuple(read_nodes(recorded("22.05.8", "show_node.txt"))),
        tuple(read_partitions(recorded("22.05.8", "show_partition.txt"))),
    )
    view = ClusterView("hpc")
    view.update(machines, Amounts(), own, SlurmOptions())
    return {node.name: node for node in view.nodes}


def test_all_in_use_belongs_to_others_without_own_jobs() -> None:
    nodes = shown({})

    assert nodes["n1"].use == EngineUse(3000, 300 * MIB, (0,), OthersUse(3000, 300 * MIB, 1))
    assert nodes["n3"].use == EngineUse(4000, 400 * MIB, (0, 1, 2, 3), OthersUse(4000, 400 * MIB, 4))
    assert nodes["n4"].use == EngineUse()
    assert nodes["n1"].partitions == ("main", "urgent")


def test_own_part_is_taken_off() -> None:
    nodes = shown({"n1": Amounts(2, 200 * MIB, {"": 1}), "n3": Amounts(9, 9 << 40, {"": 9})})

    assert nodes["n1"].use == EngineUse(3000, 300 * MIB, (0,), OthersUse(1000, 100 * MIB, 0))
    assert nodes["n3"].use is not None
    assert nodes["n3"].use.others == OthersUse()


def test_notes_have_the_words_of_slurm_and_the_reason() -> None:
    nodes = shown({})

    assert nodes["n1"].note == ""
    assert nodes["n2"].note == "It is drained and starts no jobs (MIXED+DRAIN); disk: 1 error"
    assert nodes["n4"].note == "It is down (DOWN); no power = no node"


def test_job_is_divided_by_where_its_tasks_are() -> None:
    held = Held(("n1", "n2"), Amounts(6, 600 * MIB))

    found = own_use([gang("n1", "n1", "n2", gpus=1)], running(held))

    assert found == {"n1": Amounts(4, 400 * MIB, {"": 2}), "n2": Amounts(2, 200 * MIB, {"": 1})}


def test_job_is_divided_evenly_until_its_tasks_have_begun() -> None:
    held = Held(("n1", "n2"), Amounts(6, 600 * MIB, {"a100": 2}))

    found = own_use([gang("n1", "", "")], running(held))

    assert found == {"n1": Amounts(3, 300 * MIB, {"": 1}), "n2": Amounts(3, 300 * MIB, {"": 1})}


def test_parts_of_a_heterogeneous_job_are_counted_where_they_are() -> None:
    parts = (Held(("n1",), Amounts(1, 100 * MIB)), Held(("n1", "n3"), Amounts(4, 400 * MIB)))

    found = own_use([gang("n1", "n3")], running(*parts))

    assert found == {"n1": Amounts(3, 300 * MIB, {"": 0}), "n3": Amounts(2, 200 * MIB, {"": 0})}


@pytest.mark.parametrize("jobs", [Jobs(), Jobs({"7": JobFacts("7", is_waiting=True)})])
def test_job_that_holds_nothing_has_no_part(jobs: Jobs) -> None:
    assert own_use([gang("n1")], jobs) == {}
