"""Which rules hold: every check, with figures just on this and on that side of it."""

from dataclasses import replace

import pytest

from muster.domain.alerting.alert_conditions import Condition, conditions, unknown_subjects
from muster.domain.alerting.alert_facts import Facts, GpuFacts, JobFacts, NodeFacts, TaskFacts
from muster.domain.alerting.alert_rules import CHECKS, DEFAULT_RULES, SUBJECTS_OF_ACTIONS, AlertRule, Check
from muster.domain.alerting.alerts import Alert, AlertKind, Severity, Subject, SubjectType

pytestmark = pytest.mark.fast
DAY = 86400.0


def found(check: Check, facts: Facts, threshold: float | None = None) -> list[Condition]:
    return conditions([AlertRule("R", check, threshold=threshold)], facts)


def of_node(**values: object) -> Facts:
    return Facts(0.0, nodes=(NodeFacts("lab", "n1", **{"is_measured": True, **values}),))  # type: ignore[arg-type]


def of_gpu(**values: object) -> Facts:
    return of_node(gpus=(GpuFacts(3, "A100", **values),))  # type: ignore[arg-type]


def of_tasks(*tasks: TaskFacts) -> Facts:
    return Facts(0.0, jobs=(JobFacts("j1", "train", "amy", "lab", 2, tasks=tasks, is_measured=True),))


def of_alert(kind: AlertKind, subject: SubjectType) -> Facts:
    alert = Alert(kind, Severity.WARNING, Subject(subject, "it", "lab", "j1"), "it is so")
    return Facts(0.0, jobs=(JobFacts("j1", "it", "amy", "lab", 1),), alerts=(alert,))


WORKS = TaskFacts("worker-0", 90.0)
HOLDS = {
    Check.NODE_UNREACHABLE: (of_node(is_unreachable=True), of_node()),
    Check.NODE_DISK: (of_node(disk_percent=80.1), of_node(disk_percent=80.0)),
    Check.NODE_MEMORY: (of_node(memory_percent=95.1), of_node(memory_percent=95.0)),
    Check.NODE_CPU: (of_node(cpu_percent=98.5), of_node(cpu_percent=98.0)),
    Check.GPU_ECC: (of_gpu(ecc_errors=1), of_gpu(ecc_errors=0)),
    Check.GPU_LOST: (of_gpu(is_lost=True), of_gpu()),
    Check.GPU_TEMPERATURE: (of_gpu(temperature_c=90.5), of_gpu(temperature_c=90)),
    Check.GPU_FOREIGN_PROCESS: (of_gpu(foreign="python (pid 7)"), of_gpu()),
    Check.GPU_IDLE: (
        of_tasks(TaskFacts("worker-0", 5.0, gpus=2), TaskFacts("ps-0", 90.0)),
        of_tasks(TaskFacts("worker-0", 5.0, gpus=2), TaskFacts("worker-1", 5.1, gpus=2)),
    ),
    Check.CLUSTER_UNREACHABLE: (of_alert(AlertKind.CLUSTER_UNREACHABLE, SubjectType.CLUSTER), Facts(0.0)),
    Check.QUEUE_LENGTH: (Facts(0.0, waiting=(("lab", 501),)), Facts(0.0, waiting=(("lab", 500),))),
    Check.JOB_WAITING: (
        Facts(0.0, jobs=(JobFacts("j1", "a", "amy", "lab", 0, waiting_since=-5.0),)),
        Facts(0.0, jobs=(JobFacts("j1", "a", "amy", "lab", 1),)),
    ),
    Check.JOB_NEEDS_ACTION: (of_alert(AlertKind.JOB_NEEDS_ACTION, SubjectType.JOB), Facts(0.0)),
    Check.JOB_HUNG: (
        of_tasks(WORKS, TaskFacts("worker-1", 0.0, silent_s=600.0)),
        of_tasks(WORKS, TaskFacts("worker-1", 0.0, silent_s=10.0)),
    ),
    Check.JOB_STALLED: (
        of_tasks(TaskFacts("worker-0", 1.0, silent_s=600.0), TaskFacts("worker-1", 0.0, silent_s=600.0)),
        of_tasks(TaskFacts("worker-0", 1.0, silent_s=600.0), TaskFacts("worker-1", 0.0, silent_s=10.0)),
    ),
    Check.CERTIFICATE: (Facts(0.0, certificate_ends_at=29 * DAY), Facts(0.0, certificate_ends_at=30 * DAY)),
    Check.SERVER_DISK: (of_alert(AlertKind.SERVER_DISK, SubjectType.SERVER), Facts(0.0)),
    Check.LOG_SERVER: (of_alert(AlertKind.LOG_SERVER, SubjectType.SERVER), Facts(0.0)),
}


@pytest.mark.parametrize("check", Check)
def test_every_check_holds_on_one_side_of_its_limit_and_not_on_the_other(check: Check) -> None:
    (threshold,) = {rule.threshold for rule in DEFAULT_RULES if rule.check is check}
    bad, good = HOLDS[check]
    (condition,) = found(check, bad, threshold)
    assert condition.message
    assert condition.subject.type is CHECKS[check].subject
    assert found(check, good, threshold) == []


def test_every_check_has_a_default_rule_whose_actions_fit_it() -> None:
    assert {rule.check for rule in DEFAULT_RULES} == set(Check)
    names = [rule.name for rule in DEFAULT_RULES]
    assert len(set(names)) == len(names)
    for rule in DEFAULT_RULES:
        assert (rule.threshold is not None) == bool(CHECKS[rule.check].unit)
        assert set(rule.inhibits) <= set(names)
        assert all(rule.subject in SUBJECTS_OF_ACTIONS[action] for action in rule.actions)


@pytest.mark.parametrize("check", [Check.NODE_DISK, Check.NODE_MEMORY, Check.GPU_ECC])
def test_figures_of_a_node_without_a_recent_sample_hold_for_nothing(check: Check) -> None:
    gpus = (GpuFacts(0, "A100", ecc_errors=5),)
    facts = of_node(is_measured=False, disk_percent=99.0, memory_percent=99.0, gpus=gpus)
    assert found(check, facts, 80) == []
    is_unknown = unknown_subjects([AlertRule("R", check, threshold=80)], facts)
    assert is_unknown("R", Subject(SubjectType.NODE, "n1", "lab"))
    assert is_unknown("R", Subject(SubjectType.GPU, "n1/0", "lab"))
    assert not is_unknown("R", Subject(SubjectType.NODE, "n2", "lab"))


def test_a_node_that_has_not_answered_since_the_start_is_neither_lost_nor_found() -> None:
    facts = of_node(is_joining=True, is_measured=False)
    rule = AlertRule("R", Check.NODE_UNREACHABLE)
    assert unknown_subjects([rule], facts)("R", Subject(SubjectType.NODE, "n1", "lab"))


@pytest.mark.parametrize(
    "tasks",
    [
        (TaskFacts("a", 0.0, 900.0), TaskFacts("b", 0.0, 900.0)),  # nobody works, so that it may wait for data
        (WORKS, TaskFacts("b", 0.0, None)),  # nobody knows when it last wrote
        (WORKS, TaskFacts("b", None, 900.0)),  # nobody knows how busy it is
        (WORKS, TaskFacts("b", 10.0, 900.0)),  # it is slow, but does something
        (WORKS,),
    ],
)
def test_a_job_does_not_hang_without_a_task_that_works_beside_one_that_certainly_does_not(
    tasks: tuple[TaskFacts, ...],
) -> None:
    assert found(Check.JOB_HUNG, of_tasks(*tasks), 2) == []


_STILL = TaskFacts("worker-1", 0.0, silent_s=600.0)


@pytest.mark.parametrize("other", [WORKS, TaskFacts("worker-0", None), TaskFacts("worker-0", 10.0, silent_s=600.0)])
def test_a_gang_does_not_stall_while_one_task_works_or_may_work(other: TaskFacts) -> None:
    assert found(Check.JOB_STALLED, of_tasks(other, _STILL), 2) == []


@pytest.mark.parametrize("other", [TaskFacts("worker-1", None, gpus=1), TaskFacts("worker-1", 40.0, gpus=1)])
def test_gpus_are_not_idle_while_one_of_their_job_is_used_or_may_be(other: TaskFacts) -> None:
    assert found(Check.GPU_IDLE, of_tasks(TaskFacts("worker-0", 0.0, gpus=1), other), 5) == []


def test_a_job_whose_nodes_are_not_measured_is_told_if_it_has_never_used_its_gpus() -> None:
    facts = of_alert(AlertKind.IDLE_ALLOCATION, SubjectType.JOB)
    assert [condition.message for condition in found(Check.GPU_IDLE, facts, 5)] == ["it is so"]
    (job,) = facts.jobs
    assert found(Check.GPU_IDLE, replace(facts, jobs=(replace(job, is_measured=True),)), 5) == []


def test_a_notebook_that_leaves_its_gpu_idle_is_told_although_it_writes_logs() -> None:
    facts = of_tasks(TaskFacts("worker-0", 0.0, silent_s=0.0, gpus=1))
    (job,) = facts.jobs
    (condition,) = found(Check.GPU_IDLE, replace(facts, jobs=(replace(job, is_interactive=True),)), 5)
    assert condition.message == "job train does not use its GPU"


def test_a_job_that_people_use_does_not_stall_however_long_it_waits_for_them() -> None:
    facts = of_tasks(_STILL)
    (job,) = facts.jobs
    assert len(found(Check.JOB_STALLED, facts, 2)) == 1
    assert found(Check.JOB_STALLED, replace(facts, jobs=(replace(job, is_interactive=True),)), 2) == []


def test_a_rule_watches_only_its_clusters() -> None:
    facts = of_node(is_unreachable=True)
    for clusters, expected in ((("lab",), 1), (("l*",), 1), (("attic",), 0), ((), 1)):
        assert len(conditions([AlertRule("R", Check.NODE_UNREACHABLE, clusters=clusters)], facts)) == expected
