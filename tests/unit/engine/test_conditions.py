"""What a virtual cluster gives a job and asks of it, case by case."""

from dataclasses import replace

import pytest

from muster.domain.resources import Resources
from muster.domain.specs import JobSpec, Mount, Priority, Role, Runtime
from muster.domain.virtual_clusters import Defaults, Limits, Share, VirtualCluster
from muster.engine.requests.cluster_defaults import refusals, too_large, with_defaults
from tests.parts.building import GIB, a_role, a_spec

pytestmark = pytest.mark.fast

VC = VirtualCluster("vision", "lab")
SILENT = Resources(250)
"""What the reader makes of a role that asks for nothing."""


def role(resources: Resources) -> Role:
    return Role("worker", 1, ("true",), resources)


def test_a_job_gets_the_defaults_that_it_does_not_override() -> None:
    defaults = Defaults(
        {"A": "vc", "B": "vc"}, Runtime(conda="py310"), (Mount("data", "/data", True), Mount("models", "/models"))
    )
    spec = a_spec(env={"B": "job"}, mounts=(Mount("mine", "/data"),))
    filled = with_defaults(spec, defaults)
    assert filled.env == {"A": "vc", "B": "job"}
    assert filled.runtime == Runtime(conda="py310")
    assert filled.mounts == (Mount("mine", "/data"), Mount("models", "/models"))
    assert with_defaults(replace(spec, runtime=Runtime(venv="v")), defaults).runtime == Runtime(venv="v")


@pytest.mark.parametrize(
    ("said", "given", "filled"),
    [
        (SILENT, None, SILENT),
        (SILENT, Resources(2000, GIB, 1, ("V100",)), Resources(2000, GIB, 1, ("V100",))),
        (Resources(4000), Resources(2000, GIB), Resources(4000, GIB)),
        (Resources(250, 2 * GIB), Resources(2000, GIB), Resources(2000, 2 * GIB)),
        (Resources(4000), Resources(2000, GIB, 1, ("V100",)), Resources(4000, GIB)),
        (Resources(250, 0, 2), Resources(2000, 0, 1, ("V100",)), Resources(2000, 0, 2, ("V100",))),
        (Resources(250, 0, 2, ("A100",)), Resources(250, 0, 1, ("V100",)), Resources(250, 0, 2, ("A100",))),
    ],
)
def test_resources_are_filled_one_by_one(said: Resources, given: Resources | None, filled: Resources) -> None:
    spec = with_defaults(a_spec(role(said)), Defaults(resources=given))
    assert spec.roles[0].resources == filled


def test_what_is_not_allowed_is_told_with_what_is() -> None:
    spec = a_spec(priority=Priority.URGENT, preemptible=False)
    vc = replace(VC, priorities=(Priority.LOW, Priority.NORMAL))
    assert [str(problem) for problem in refusals(spec, vc)] == [
        "priority: urgent is not allowed in vision (one of low, normal)",
        "preemptible: false is not allowed in vision "
        "(leave it out; an admin can allow it there with mayRefusePreemption)",
    ]
    open_to_it = replace(VC, may_refuse_preemption=True)
    assert [problem.path for problem in refusals(spec, open_to_it)] == ["preemptible"], "there is nothing to stay on"
    assert refusals(spec, replace(open_to_it, guaranteed=Share({"": 1}))) == []


def gpus(count: int, *models: str, replicas: int = 1, name: str = "worker") -> Role:
    return a_role(name, replicas, gpus=count, models=models)


@pytest.mark.parametrize(
    ("spec", "most", "message"),
    [
        (a_spec(gpus(8)), Share({"": 8}), None),
        (a_spec(gpus(3, replicas=3)), Share({"": 8}), "vision may use 8 GPUs and would use 9"),
        (a_spec(gpus(1)), Share({"": 0}), "vision may use 0 GPUs and would use 1"),
        (a_spec(gpus(1)), Share(cpu_m=4000), None),
        (a_spec(gpus(4, "v100")), Share({"V100": 4}), None),
        (a_spec(gpus(5, "V100")), Share({"V100": 4}), "vision may use 4 v100 GPUs and would use 5"),
        (a_spec(gpus(4, "A100")), Share({"V100": 4}), None),
        (a_spec(gpus(5)), Share({"V100": 4}), "vision may use 4 v100 GPUs and would use 5"),
        (a_spec(gpus(4, "A100", "V100")), Share({"V100": 4, "A100": 2}), None),
        (a_spec(a_role(replicas=5)), Share(cpu_m=4000), "vision may use 4 CPUs and would use 5"),
        (a_spec(a_role(memory=5 * GIB)), Share(memory_bytes=GIB), "vision may use 1 GiB of memory and would use 5"),
    ],
)
def test_a_gang_larger_than_max_can_never_run(spec: JobSpec, most: Share, message: str | None) -> None:
    reason = too_large(spec, replace(VC, max=most))
    if message is None:
        assert reason is None
    else:
        assert reason is not None
        assert (reason.code, reason.message) == ("never", message)


def test_an_elastic_gang_counts_at_its_smallest() -> None:
    elastic = replace(gpus(1, replicas=8), min_replicas=2, max_replicas=16)
    assert too_large(a_spec(elastic), replace(VC, max=Share({"": 2}))) is None
    assert too_large(a_spec(elastic), replace(VC, max=Share({"": 1}))) is not None


def test_shared_gpus_count_as_parts() -> None:
    halves = Role("worker", 4, ("true",), Resources(1000, 0, 1, (), 500))
    assert too_large(a_spec(halves), replace(VC, max=Share({"": 2}))) is None
    assert too_large(a_spec(replace(halves, replicas=5)), replace(VC, max=Share({"": 2}))) is not None


@pytest.mark.parametrize(
    ("spec", "share", "message"),
    [
        (a_spec(gpus(4)), Share({"": 4}), None),
        (a_spec(gpus(5)), Share({"": 4}), "it wants 5 GPUs, and guaranteed, without borrowing, is 4 GPUs"),
        (a_spec(gpus(1)), Share(cpu_m=8000), "it wants 1 GPU, and guaranteed, without borrowing, is 0 GPUs"),
        (a_spec(gpus(4, "V100"), gpus(2, "A100", name="ps")), Share({"V100": 4, "A100": 2}), None),
        (
            a_spec(gpus(1, "A100")),
            Share({"V100": 4}),
            "it wants 1 GPU of model A100, and guaranteed, without borrowing, is 0 GPUs of model A100",
        ),
        (
            a_spec(gpus(4, "V100"), gpus(4, name="ps")),
            Share({"V100": 4, "A100": 2}),
            "it wants 8 GPUs, and guaranteed, without borrowing, is 6 GPUs",
        ),
        (a_spec(a_role(cpu=3)), Share(cpu_m=2000), "it wants 3 cores, and guaranteed, without borrowing, is 2"),
        (a_spec(a_role(cpu=3)), Share({"": 1}), None),
    ],
)
def test_who_may_not_borrow_never_has_more_than_the_guarantee(spec: JobSpec, share: Share, message: str | None) -> None:
    assert too_large(spec, replace(VC, guaranteed=share)) is None
    reason = too_large(spec, replace(VC, guaranteed=share, borrows=False))
    assert (reason.message if reason else None) == message


@pytest.mark.parametrize("whose", ["limits", "user_limits"])
def test_a_gang_over_a_limit_on_running_gpus_would_wait_for_ever(whose: str) -> None:
    vc = replace(VC, **{whose: Limits(running_gpus=4)})  # type: ignore[arg-type]
    assert too_large(a_spec(gpus(4)), vc) is None
    reason = too_large(a_spec(gpus(5)), vc)
    assert reason is not None
    assert reason.message.startswith("it wants 5 GPUs, and ")
    assert reason.message.endswith("imits.runningGpus is 4 GPUs")
