"""Nodes and partitions are read from what scontrol prints."""

import pytest

from muster.backends.slurm.answers.node_states import NodeCondition, node_condition
from muster.backends.slurm.answers.node_tables import NodeRecord, read_nodes, read_partitions
from tests.unit.slurm.samples import RECORDED, documented, recorded

pytestmark = pytest.mark.fast
MIB = 1 << 20


@pytest.mark.parametrize("release", RECORDED)
def test_recorded_nodes(release: str) -> None:
    nodes = {node.name: node for node in read_nodes(recorded(release, "show_node.txt"))}

    assert list(nodes) == ["n1", "n2", "n3", "n4"]
    assert {name: dict(node.gpus) for name, node in nodes.items()} == {
        "n1": {"a100": 2},
        "n2": {"a100": 2},
        "n3": {"v100": 4},
        "n4": {"v100": 4},
    }
    assert {name: dict(node.used_gpus) for name, node in nodes.items()} == {
        "n1": {"a100": 1},
        "n2": {"a100": 1},
        "n3": {"v100": 4},
        "n4": {},
    }
    assert (nodes["n1"].cpus, nodes["n1"].used_cpus) == (4, 3)
    assert (nodes["n1"].memory_bytes, nodes["n1"].used_memory_bytes) == (4000 * MIB, 300 * MIB)
    assert (nodes["n1"].partitions, nodes["n1"].features) == (("main", "urgent"), ("a100", "fast"))
    assert nodes["n1"].version == release


@pytest.mark.parametrize("release", RECORDED)
def test_recorded_nodes_that_are_not_in_order(release: str) -> None:
    nodes = {node.name: node for node in read_nodes(recorded(release, "show_node.txt"))}

    assert [node.condition.is_usable for node in nodes.values()] == [True, False, True, False]
    assert nodes["n2"].condition.problem == "It is drained and starts no jobs"
    assert nodes["n2"].reason == "disk: 1 error"
    assert nodes["n4"].condition.problem == "It is down"
    assert nodes["n4"].reason == "no power = no node"


@pytest.mark.parametrize("release", RECORDED)
def test_recorded_partitions(release: str) -> None:
    main, urgent = read_partitions(recorded(release, "show_partition.txt"))

    assert (main.name, main.is_up, main.is_default, main.max_time_s, main.priority_tier) == (
        "main",
        True,
        True,
        None,
        1,
    )
    assert main.nodes == ("n1", "n2", "n3", "n4")
    assert (urgent.name, urgent.is_default, urgent.max_time_s, urgent.priority_tier) == ("urgent", False, 3600, 10)


def test_documented_nodes_of_20_11() -> None:
    gpu, cpu = read_nodes(documented("show_node-20.11.txt"))

    assert gpu == NodeRecord(
        "gpu01",
        "10.0.0.1",
        NodeCondition(("MIXED",), True),
        64,
        515000 * MIB,
        {"a100": 8},
        8,
        64000 * MIB,
        {"a100": 3},
        (0, 1, 5),
        ("gpu", "all"),
        ("a100", "ib"),
        "",
        "20.11.9",
    )
    assert cpu.condition == NodeCondition(("DOWN", "NOT_RESPONDING", "DRAIN"), False, "It is down")
    assert (cpu.reason, cpu.gpus, cpu.features) == ("State=broken, see ticket = 7", {}, ())


def test_documented_nodes_of_24_11() -> None:
    gpu, cloud = read_nodes(documented("show_node-24.11.txt"))

    assert (gpu.cpus, gpu.used_memory_bytes, gpu.used_gpus) == (62, 64000 * MIB, {"a100": 3})
    assert gpu.condition == NodeCondition(("MIXED", "PLANNED"), True)
    remark = "It is switched off until a job needs it"
    assert cloud.condition == NodeCondition(("IDLE", "CLOUD", "POWERED_DOWN"), True, remark=remark)
    assert cloud.gpus == {"": 1}


@pytest.mark.parametrize(
    ("word", "words", "problem"),
    [
        ("IDLE", ("IDLE",), ""),
        ("idle", ("IDLE",), ""),
        ("ALLOCATED", ("ALLOCATED",), ""),
        ("alloc", ("ALLOCATED",), ""),
        ("mix", ("MIXED",), ""),
        ("comp", ("COMPLETING",), ""),
        ("resv", ("RESERVED",), ""),
        ("plnd", ("PLANNED",), ""),
        ("IDLE-", ("IDLE", "PLANNED"), ""),
        ("IDLE~", ("IDLE", "POWERED_DOWN"), ""),
        ("ALLOCATED#", ("ALLOCATED", "POWERING_UP"), ""),
        ("IDLE%", ("IDLE", "POWERING_DOWN"), ""),
        ("IDLE!", ("IDLE", "POWER_DOWN"), ""),
        ("DOWN", ("DOWN",), "It is down"),
        ("DOWN*", ("DOWN", "NOT_RESPONDING"), "It is down"),
        ("IDLE*", ("IDLE", "NOT_RESPONDING"), "It does not answer Slurm"),
        ("DRAINED", ("DRAINED",), "It is drained and starts no jobs"),
        ("drain", ("DRAIN",), "It is drained and starts no jobs"),
        ("drng", ("DRAINING",), "It is drained and starts no jobs"),
        ("FAIL", ("FAIL",), "It is expected to fail soon"),
        ("failg", ("FAILING",), "It is expected to fail soon"),
        ("inval", ("INVALID",), "It has less than Slurm's settings say"),
        ("INVALID_REG", ("INVALID_REG",), "It has less than Slurm's settings say"),
        ("maint", ("MAINTENANCE",), "It is reserved for maintenance"),
        ("IDLE$", ("IDLE", "MAINTENANCE"), "It is reserved for maintenance"),
        ("IDLE@", ("IDLE", "REBOOT_REQUESTED"), "It is about to restart"),
        ("IDLE^", ("IDLE", "REBOOT_ISSUED"), "It is about to restart"),
        ("futr", ("FUTURE",), "Slurm does not know its state yet"),
        ("unk", ("UNKNOWN",), "Slurm does not know its state yet"),
        ("SOMETHING_NEW", ("SOMETHING_NEW",), "Slurm does not know its state yet"),
        ("", ("",), "Slurm does not know its state yet"),
    ],
)
def test_words_and_marks_for_the_state_of_a_node(word: str, words: tuple[str, ...], problem: str) -> None:
    condition = node_condition((word,))

    assert (condition.words, condition.is_usable, condition.problem) == (words, not problem, problem)


@pytest.mark.parametrize(
    ("word", "remark"),
    [
        ("IDLE", ""),
        ("RESERVED", "It is reserved, and starts only jobs of its reservation"),
        ("IDLE~", "It is switched off until a job needs it"),
        ("DOWN~", ""),
    ],
)
def test_what_is_special_about_a_node_that_starts_jobs(word: str, remark: str) -> None:
    assert node_condition((word,)).remark == remark
