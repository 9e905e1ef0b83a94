"""The batch script of a gang, and what of it people are shown."""

import re
from dataclasses import replace

import pytest

from muster.agent.batch.coordinator import unpacked
from muster.backends.slurm.options import SlurmOptions, SubmitSettings
from muster.backends.slurm.script.batch_script import Place, batch_script, shown_script
from muster.backends.slurm.script.sbatch_options import GpuTypes
from muster.domain.gangs import make_gang
from muster.domain.launch_requests import GangLaunch
from muster.domain.resources import Placement, Resources
from muster.domain.specs import JobSpec, Role, Spread, Where
from muster.domain.tasks import Task, TaskLaunching, task_id
from muster.launch.composing import compose, ports_needed
from muster.launch.symbols import assign_symbols

pytestmark = pytest.mark.fast
PLACE = Place("/shared/one-hpc", "/shared/agents/agent.pyz", "one")
CPU, GPU = Resources(1000, 2 << 30), Resources(2000, 4 << 30, 1, ("V100",))


def launch_of(*roles: Role, cluster: str = "hpc", **fields: object) -> GangLaunch:
    spec = JobSpec("train", roles, **fields)  # type: ignore[arg-type]
    tasks = [
        Task(
            task_id("j", 1, role.name, n), "j", 1, f"{role.name}-{n}", role.name, n, 0, Placement(""), TaskLaunching(0)
        )
        for role in roles
        for n in range(role.replicas)
    ]
    ranked = [replace(task, rank=rank) for rank, task in enumerate(tasks)]
    gang = make_gang("j", "amy", cluster, 1, spec, ranked)
    ports = {task.id: ports_needed(spec, spec.role(task.role), task.index) for task in gang.tasks}
    return compose(replace(gang, tasks=assign_symbols(gang, ports)))


def directives(launch: GangLaunch, options: SlurmOptions | None = None) -> list[str]:
    script = batch_script(launch, options or SlurmOptions(), PLACE, GpuTypes(options or SlurmOptions(), ["v100"]))
    return [line.removeprefix("#SBATCH ") for line in script.splitlines() if line.startswith("#SBATCH")]


def test_roles_of_one_size_are_one_job() -> None:
    found = directives(launch_of(Role("ps", 2, ("true",), CPU), Role("worker", 2, ("true",), CPU)))
    assert "hetjob" not in found
    assert {"--ntasks=4", "--cpus-per-task=1", "--mem-per-cpu=2048M", "--no-requeue"} <= set(found)


def test_roles_of_different_size_are_components_of_one_job() -> None:
    found = directives(launch_of(Role("ps", 2, ("true",), CPU), Role("worker", 3, ("true",), GPU)))
    first, second = found[: found.index("hetjob")], found[found.index("hetjob") :]
    assert {"--ntasks=2", "--cpus-per-task=1"} <= set(first)
    assert {"--ntasks=3", "--cpus-per-task=2", "--mem-per-cpu=2048M", "--gpus-per-task=v100:1"} <= set(second)


def test_gpus_whose_gres_has_no_type_are_asked_for_by_the_feature_of_their_nodes() -> None:
    options = SlurmOptions(submit=SubmitSettings(constraint="fast|new"), gpu_features={"volta": "V100"})
    launch = launch_of(Role("ps", 1, ("true",), CPU), Role("worker", 2, ("true",), GPU), where=Where(labels={"x": "*"}))
    script = batch_script(launch, options, PLACE, GpuTypes(options))
    found = [line.removeprefix("#SBATCH ") for line in script.splitlines() if line.startswith("#SBATCH")]
    first, second = found[: found.index("hetjob")], found[found.index("hetjob") :]
    assert "--constraint=(fast|new)&x" in first
    assert {"--gpus-per-task=1", "--constraint=(fast|new)&x&volta"} <= set(second)


def test_feature_of_gpus_is_not_asked_for_where_the_gres_has_a_type() -> None:
    found = directives(launch_of(Role("worker", 1, ("true",), GPU)), SlurmOptions(gpu_features={"volta": "V100"}))
    assert "--gpus-per-task=v100:1" in found
    assert not [one for one in found if one.startswith("--constraint")]


@pytest.mark.parametrize(
    ("asked", "cpu_m", "wanted"),
    [
        (20 << 20, 1000, ["--mem-per-cpu=64M"]),
        (20 << 20, 4000, ["--mem-per-cpu=16M"]),
        (65 << 20, 1000, ["--mem-per-cpu=65M"]),
        (0, 1000, []),
    ],
)
def test_slurm_is_asked_for_no_less_memory_than_muster_itself_needs(asked: int, cpu_m: int, wanted: list[str]) -> None:
    found = directives(launch_of(Role("worker", 1, ("true",), Resources(cpu_m, asked))))
    assert [one for one in found if one.startswith("--mem")] == wanted


def test_the_job_is_found_again_by_its_name_and_comment() -> None:
    found = directives(launch_of(Role("worker", 1, ("true",))))
    assert {"--job-name=train.j.1", "--comment=muster:one:j.1"} <= set(found)


def test_a_virtual_cluster_adds_to_the_settings_and_overrides_them() -> None:
    options = SlurmOptions(
        submit=SubmitSettings("main", "lab", options=("--nice=10",)),
        virtual={"urgent": SubmitSettings("fast", qos="high", options=("--exclusive",))},
    )
    role = Role("worker", 1, ("true",))
    assert {"--partition=main", "--account=lab", "--nice=10"} <= set(directives(launch_of(role), options))
    found = set(directives(launch_of(role, cluster="urgent"), options))
    assert {"--partition=fast", "--account=lab", "--qos=high", "--nice=10", "--exclusive"} <= found


def test_where_becomes_nodes_and_constraints() -> None:
    where = Where(not_nodes=("n7",), labels={"rack": "a", "nvme": "*"}, spread=Spread.APART)
    options = SlurmOptions(submit=SubmitSettings(constraint="v100|a100"))
    found = directives(launch_of(Role("worker", 2, ("true",)), where=where), options)
    assert {"--nodes=2", "--ntasks-per-node=1", "--exclude=n7", "--constraint=(v100|a100)&nvme&rack=a"} <= set(found)


def test_a_time_limit_is_given_to_slurm_with_room_for_our_own() -> None:
    found = directives(launch_of(Role("worker", 1, ("true",)), time_limit_s=3600.0, grace_s=60.0))
    assert "--time=62" in found


def test_the_lines_of_the_cluster_come_before_the_job() -> None:
    options = SlurmOptions(modules=("cuda/12",), env={"NCCL_IB_HCA": "mlx5 0"}, prolog=("ulimit -l unlimited",))
    script = batch_script(launch_of(Role("worker", 1, ("true",))), options, PLACE, GpuTypes(options))
    lines = ["module load cuda/12", "export NCCL_IB_HCA='mlx5 0'", "ulimit -l unlimited", "exec python3 -I"]
    places = [script.index(line) for line in lines]
    assert places == sorted(places)


def test_what_people_see_has_no_values_of_their_variables_and_the_script_has() -> None:
    launch = launch_of(Role("worker", 1, ("true",), env={"PASSWORD": "hunter2"}))
    assert "hunter2" not in shown_script(launch, SlurmOptions(), PLACE, GpuTypes(SlurmOptions()))
    script = batch_script(launch, SlurmOptions(), PLACE, GpuTypes(SlurmOptions()))
    body = re.search(r"<<'MUSTER_ORDER'\n(.*)\nMUSTER_ORDER\n", script, re.DOTALL)
    assert body is not None
    order = unpacked(body[1])
    assert order is not None
    (task,) = order["groups"][0]["tasks"]
    assert (task["env"]["PASSWORD"], task["literal"]) == ("hunter2", ["PASSWORD"])
    assert "hunter2" not in script
