"""Whether the kernel killed a process of a task for memory, by Slurm's control groups of both versions."""

from pathlib import Path

import pytest

from muster.agent.batch.own_groups import killed_by_the_kernel

pytestmark = pytest.mark.fast
_VERSION_1 = ("cgroup", "rw,memory", "memory", "/slurm/uid_0/job_7/step_0/task_0", "memory.oom_control")
_VERSION_2 = ("cgroup2", "rw", "", "/system.slice/slurmstepd.scope/job_7/step_0/user/task_0", "memory.events")


@pytest.mark.parametrize(("kind", "options", "controller", "path", "name"), [_VERSION_1, _VERSION_2])
def test_kills_are_counted_in_groups_of_the_job_only(
    tmp_path: Path, kind: str, options: str, controller: str, path: str, name: str
) -> None:
    group = tmp_path / "groups" / path.lstrip("/")
    group.mkdir(parents=True)
    (tmp_path / "proc" / "self").mkdir(parents=True)
    (tmp_path / "proc/self/mounts").write_text(f"none /groups {kind} {options} 0 0\n")
    (tmp_path / "proc/self/cgroup").write_text(f"4:{controller}:{path}\n")
    (group / name).write_text("oom 3\noom_kill 2\n")

    assert killed_by_the_kernel("7", str(tmp_path)) == 2
    assert killed_by_the_kernel("8", str(tmp_path)) == 0
    (group / name).unlink()
    assert killed_by_the_kernel("7", str(tmp_path)) == 0
