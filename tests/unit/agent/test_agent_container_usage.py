"""What is counted for a container: in its own control groups of both versions, on stand-in trees, or its processes."""

from pathlib import Path

import pytest

from muster.agent.node.container_usage import Container, container_usage
from muster.agent.system.group_counters import GroupCounts, counted, groups_of_its_own, in_use
from muster.agent.system.processes import PAGE_BYTES, TICKS_PER_S, Identity, ProcessStat

pytestmark = pytest.mark.fast
MIB = 1 << 20
ENGINE, CLIENT, FIRST = 5, 6, 7
V1 = "".join(
    f"cgroup /sys/fs/cgroup/{name} cgroup rw,relatime,{name} 0 0\n" for name in ("cpu,cpuacct", "memory", "pids")
)
V2 = "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n"


def machine(root: Path, mounts: str, **groups: str) -> Path:
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/self/mounts").write_text(mounts)
    for pid, text in zip((ENGINE, CLIENT, FIRST), groups.values(), strict=True):
        (root / f"proc/{pid}").mkdir()
        (root / f"proc/{pid}/cgroup").write_text(text)
    return root / "sys/fs/cgroup"


def group(folder: Path, **files: str) -> str:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "cgroup.procs").write_text(f"{FIRST}\n9\n")
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text)
    return str(folder)


def own(root: Path) -> tuple[str, ...]:
    return groups_of_its_own(FIRST, [ENGINE, CLIENT], str(root))


def test_version_1_has_a_group_for_each_controller(tmp_path: Path) -> None:
    there = machine(
        tmp_path,
        V1,
        engine="4:memory:/docker.service\n2:cpu,cpuacct:/docker.service\n",
        client="4:memory:/\n2:cpu,cpuacct:/\n",
        first="5:pids:/docker/x\n4:memory:/docker/x\n2:cpu,cpuacct:/docker/x\n",
    )
    cpu = group(there / "cpu,cpuacct/docker/x", cpuacct__usage="2500000000\n", cpu__stat="nr_periods 0\n")
    memory = group(
        there / "memory/docker/x",
        memory__usage_in_bytes=str(300 * MIB),
        memory__max_usage_in_bytes=str(500 * MIB),
        memory__stat=f"cache 1\ntotal_cache {250 * MIB}\ntotal_shmem {50 * MIB}\n",
    )
    assert own(tmp_path) == (cpu, memory)
    assert in_use((cpu, memory)) == GroupCounts(2.5, 100 * MIB)
    assert counted((cpu, memory)) == GroupCounts(2.5, 300 * MIB)


def test_version_2_has_one_group(tmp_path: Path) -> None:
    there = machine(tmp_path, V2, engine="0::/conmon\n", client="0::/me\n", first="0::/libpod-x/container\n")
    found = group(
        there / "libpod-x/container",
        cpu__stat="usage_usec 1500000\nuser_usec 1\n",
        memory__current=str(90 * MIB),
        memory__peak=str(120 * MIB),
        memory__stat=f"anon 1\nfile {30 * MIB}\nshmem {10 * MIB}\n",
    )
    assert own(tmp_path) == (found,)
    assert in_use((found,)) == GroupCounts(1.5, 70 * MIB)
    assert counted((found,)) == GroupCounts(1.5, 100 * MIB)
    Path(found, "memory.peak").unlink()  # Linux before 5.19 has none
    assert counted((found,)) == GroupCounts(1.5, None)


def test_a_peak_without_what_was_cache_is_not_known(tmp_path: Path) -> None:
    """The engine removes the group while it is being read."""
    assert counted((group(tmp_path / "x", memory__peak=str(120 * MIB)),)) == GroupCounts(None, None)
    assert counted((str(tmp_path / "gone"),)) == GroupCounts(None, None)


@pytest.mark.parametrize(
    ("engine", "client", "first"),
    [
        ("0::/me\n", "0::/me\n", "0::/me\n"),  # an engine that may make no groups
        ("0::/podman-1.scope\n", "0::/me\n", "0::/podman-1.scope\n"),
        ("0::/e\n", "0::/me\n", "0::/../outside\n"),  # of a machine around ours
        ("0::/e\n", "0::/me\n", ""),
    ],
)
def test_a_group_that_others_are_in_or_that_is_not_there_is_none_of_its_own(
    tmp_path: Path, engine: str, client: str, first: str
) -> None:
    there = machine(tmp_path, V2, engine=engine, client=client, first=first)
    for name in ("me", "podman-1.scope"):
        group(there / name)
    (there.parent / "outside").mkdir()
    (there.parent / "outside/cgroup.procs").write_text("1\n")
    assert own(tmp_path) == ()


def a_process(pid: int, parent: int, seconds: int = 1, start: int = 50) -> ProcessStat:
    return ProcessStat(pid, "S", parent, pid, seconds * TICKS_PER_S, start, 10)


PROCESSES = [
    a_process(1, 0),
    a_process(FIRST, ENGINE),
    a_process(8, FIRST, 2),
    a_process(9, 8, 4),
    a_process(ENGINE, 1),
]


def test_without_a_group_the_first_process_and_all_below_it_are_added_up() -> None:
    found = container_usage(Container(Identity(FIRST, 50, "boot"), ()), PROCESSES)
    assert found == {"cpu_s": 7.0, "rss_bytes": 30 * PAGE_BYTES, "processes": 3, "in_container": True}


def test_what_the_group_says_goes_before_the_sum_of_processes(tmp_path: Path) -> None:
    groups = (group(tmp_path / "x", cpu__stat="usage_usec 9000000\n"),)
    found = container_usage(Container(Identity(FIRST, 50, "boot"), groups), PROCESSES)
    assert found == {"cpu_s": 9.0, "rss_bytes": 30 * PAGE_BYTES, "processes": 3, "in_container": True}


def test_another_process_with_the_same_number_is_not_the_container() -> None:
    assert container_usage(Container(Identity(FIRST, 49, "boot"), ()), PROCESSES) is None
