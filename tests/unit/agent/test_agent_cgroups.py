"""Version 2 is tried on a stand-in tree of plain files, since few machines offer both versions for real."""

from pathlib import Path

import pytest

from muster.agent.tasks.cgroups import find_groups, memory_limit, ran_out_of_memory
from muster.agent.tasks.launch_request import Limits

pytestmark = pytest.mark.fast


def machine(root: Path, mounts: str, own: str) -> Path:
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/self/mounts").write_text(mounts)
    (root / "proc/self/cgroup").write_text(own)
    return root


def version_2(root: Path, controllers: str, delegated: str) -> Path:
    machine(root, "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n", "0::/user/me\n")
    own = root / "sys/fs/cgroup/user/me"
    own.mkdir(parents=True)
    (own / "cgroup.controllers").write_text(controllers)
    (own / "cgroup.subtree_control").write_text(delegated)
    (own / "cgroup.procs").write_text("1\n2\n")
    return own


def test_version_2_with_delegated_controllers_sets_memory_and_weight(tmp_path: Path) -> None:
    own = version_2(tmp_path, "cpu memory pids", "cpu memory")
    groups = find_groups(str(tmp_path))
    assert (groups.version, groups.memory, groups.cpu, groups.why) == (2, str(own), str(own), "")
    made = groups.create("t", Limits(1 << 30, 1024))
    assert made == (str(own / "muster-t"),)
    assert (own / "muster-t/memory.max").read_text() == str(1 << 30)
    assert (own / "muster-t/cpu.weight").read_text() == "39"


def test_version_2_hands_controllers_on_where_it_may(tmp_path: Path) -> None:
    own = version_2(tmp_path, "memory", "")
    groups = find_groups(str(tmp_path))
    assert (own / "cgroup.subtree_control").read_text() == "+memory"
    assert groups.memory == str(own)
    assert groups.cpu is None
    assert "cpu" in groups.why


def test_version_2_without_the_memory_controller_says_why(tmp_path: Path) -> None:
    version_2(tmp_path, "pids", "")
    groups = find_groups(str(tmp_path))
    assert (groups.memory, groups.cpu) == (None, None)
    assert groups.processes is not None
    assert "not delegated" in groups.why
    assert groups.create("t", Limits(1 << 30, None)) == (groups.processes + "/muster-t",)  # limits nothing


def test_the_process_that_starts_a_task_never_enters_a_group_with_limits(tmp_path: Path) -> None:
    own = version_2(tmp_path, "cpu memory pids", "cpu memory pids")
    groups = find_groups(str(tmp_path))
    limited, free = Limits(1 << 30, None), Limits(None, None)
    assert groups.joining(groups.create("t", limited), limited) == ("", "", (f"{own}/muster-t/cgroup.procs",))
    assert groups.joining(groups.create("u", free), free) == (f"{own}/muster-u/cgroup.procs", f"{own}/cgroup.procs", ())


def test_version_1_finds_the_processes_of_every_task_by_the_pids_controller(tmp_path: Path) -> None:
    machine(tmp_path, "cgroup /cg/cpu cgroup rw,cpu 0 0\ncgroup /cg/pids cgroup rw,pids 0 0\n", "2:cpu:/\n1:pids:/a\n")
    (tmp_path / "cg/pids/a").mkdir(parents=True)
    (tmp_path / "cg/cpu").mkdir()
    groups, free = find_groups(str(tmp_path), tag=".1f"), Limits(None, None)
    [made] = groups.create("t", free)
    assert made == f"{tmp_path}/cg/pids/a/muster-t.1f"
    assert groups.joining((made,), free) == (f"{made}/tasks", f"{tmp_path}/cg/pids/a/tasks", ())


def test_machine_without_control_groups_says_so(tmp_path: Path) -> None:
    machine(tmp_path, "proc /proc proc rw 0 0\n", "")
    assert "no control groups" in find_groups(str(tmp_path)).why


def test_version_1_uses_each_hierarchy_by_itself(tmp_path: Path) -> None:
    mounts = "cgroup /cg/memory cgroup rw,memory 0 0\ncgroup /cg/cpu cgroup rw,cpu,cpuacct 0 0\n"
    machine(tmp_path, mounts, "2:memory:/a/b\n1:cpu,cpuacct:/\n")
    (tmp_path / "cg/memory/a/b").mkdir(parents=True)
    (tmp_path / "cg/cpu").mkdir()
    groups = find_groups(str(tmp_path))
    made = groups.create("t", Limits(4096, 1))
    assert made == (str(tmp_path / "cg/memory/a/b/muster-t"), str(tmp_path / "cg/cpu/muster-t"))
    assert (tmp_path / "cg/memory/a/b/muster-t/memory.limit_in_bytes").read_text() == "4096"
    assert (tmp_path / "cg/cpu/muster-t/cpu.shares").read_text() == "2"  # the least the kernel takes


def test_memory_limit_is_the_tightest_around_us(tmp_path: Path) -> None:
    own = version_2(tmp_path, "memory", "")
    assert memory_limit(str(tmp_path)) is None
    (own / "memory.max").write_text("max\n")
    (own.parent / "memory.max").write_text("5000\n")
    assert memory_limit(str(tmp_path)) == 5000
    (own / "memory.max").write_text("3000\n")
    assert memory_limit(str(tmp_path)) == 3000


@pytest.mark.parametrize(
    ("name", "text", "oom"),
    [
        ("memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 0\n", False),
        ("memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n", True),
        ("memory.events", "low 0\nhigh 0\nmax 9\noom 1\noom_kill 1\n", True),
        ("memory.events", "low 0\nhigh 0\nmax 9\noom 1\noom_kill 0\n", False),
    ],
)
def test_out_of_memory_is_read_from_the_group(tmp_path: Path, name: str, text: str, oom: bool) -> None:
    (tmp_path / name).write_text(text)
    assert ran_out_of_memory([str(tmp_path)]) is oom


def test_a_task_may_have_a_quarter_of_the_processes_of_the_machine(tmp_path: Path) -> None:
    version_2(tmp_path, "cpu memory pids", "cpu memory pids")
    kernel = tmp_path / "proc/sys/kernel"
    kernel.mkdir(parents=True)
    (kernel / "pid_max").write_text("32768\n")
    (kernel / "threads-max").write_text("250000\n")
    assert find_groups(str(tmp_path)).most_processes == 8192
