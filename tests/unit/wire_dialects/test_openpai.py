"""An OpenPAI protocol-2 job, field by field: what it becomes, and the one thing said of what cannot be."""

import pytest

from muster.domain.errors import Invalid
from muster.domain.specs import Completion, Framework, Priority
from muster.wire.specs import read_source
from tests.unit.wire_dialects.reading import changed, problems, spec

pytestmark = pytest.mark.fast

JOB = """\
protocolVersion: 2
name: demo
type: job
prerequisites:
  - {name: img, type: dockerimage, uri: "repo/train:1"}
parameters:
  lr: 0.1
taskRoles:
  worker:
    instances: 2
    dockerImage: img
    resourcePerInstance: {cpu: 2, memoryMB: 1024, gpu: 1, ports: {grpc: 2}}
    commands:
      - python train.py --lr <% $parameters.lr %>
  ps_server:
    dockerImage: img
    resourcePerInstance: {cpu: 1, memoryMB: 512, gpu: 0}
    commands: [" sleep 1 ", echo bye]
"""
EXTRAS = "type: job\n"


def at_top(text: str) -> str:
    return changed(JOB, EXTRAS, f"{EXTRAS}{text}\n")


def in_worker(text: str) -> str:
    return changed(JOB, "    instances: 2\n", f"    instances: 2\n    {text}\n")


def script(text: str, role: str = "worker") -> str:
    """The commands of the role, which bash gets as an argument."""
    command = spec(text).role(role).command
    assert command[:2] == ("bash", "-c")
    return command[4]


def test_plain_job_needs_no_word() -> None:
    reading = read_source(JOB)
    worker = reading.spec.role("worker")

    assert reading.warnings == ()
    assert reading.spec.runtime.image == "repo/train:1"
    assert (worker.replicas, worker.ports) == (2, 4)
    assert reading.spec.runtime.workdir == "image"
    assert reading.spec.framework is Framework.NONE
    assert (worker.resources.cpu_m, worker.resources.memory_bytes, worker.resources.gpus) == (2000, 1 << 30, 1)
    assert reading.spec.cluster is None


def test_commands_are_trimmed_and_joined_by_lines() -> None:
    assert script(JOB, "ps_server") == "sleep 1\necho bye"


def test_chosen_deployment_goes_around_the_commands() -> None:
    text = at_top(
        "deployments: [{name: d, taskRoles: {ps_server: {preCommands: [before], postCommands: [after]}}}]\n"
        "defaults: {deployment: d}"
    )
    assert script(text, "ps_server") == "before\nsleep 1\necho bye\nafter"


def test_parameters_are_params_that_the_command_line_may_change() -> None:
    assert script(JOB).endswith("python train.py --lr 0.1")
    job = read_source(JOB, params={"lr": 0.5}).spec
    assert job.role("worker").command[4].endswith("--lr 0.5")
    assert dict(job.params) == {"lr": 0.5}


def test_a_param_that_the_job_does_not_have_is_refused() -> None:
    with pytest.raises(Invalid) as refused:
        read_source(JOB, params={"rl": 0.5})
    assert [str(problem) for problem in refused.value.problems] == [
        "params.rl: the job has no such param (known params: lr)"
    ]


def test_nested_parameter_is_written_into_the_command_and_told() -> None:
    text = changed(changed(JOB, "lr: 0.1", "deep: {rates: [1, 2]}"), "$parameters.lr", "$parameters.deep.rates[1]")
    reading = read_source(text)

    assert reading.spec.role("worker").command[4].endswith("--lr 2")
    assert [warning.split(":")[1].strip() for warning in reading.warnings] == ["parameters.deep"]


@pytest.mark.parametrize(
    ("written", "wanted"),
    [
        ("{}", Completion(1, 2)),
        ("{minFailedInstances: 0, minSucceededInstances: 0}", Completion(1, 2)),
        ("{minFailedInstances: null, minSucceededInstances: null}", Completion(1, 2)),
        ("{minFailedInstances: -1, minSucceededInstances: -1}", Completion(None, None)),
        ("{minFailedInstances: 2, minSucceededInstances: 1}", Completion(2, 1)),
    ],
)
def test_completion_means_what_it_means_in_openpai(written: str, wanted: Completion) -> None:
    assert spec(in_worker(f"completion: {written}")).role("worker").completion == wanted


def test_default_completion_follows_an_overridden_number_of_tasks() -> None:
    job = spec(JOB, {"roles.worker.replicas": 5})

    assert job.role("worker").completion == Completion(1, 5)
    assert job.env["PAI_TASK_ROLE_TASK_COUNT_worker"] == "5"


def test_retries_cluster_and_priority_are_taken() -> None:
    job = spec(
        at_top("jobRetryCount: 4\ndefaults: {virtualCluster: lab}\nextras: {hivedScheduler: {jobPriorityClass: crit}}")
    )
    assert (job.retry_max, job.cluster, job.priority) == (4, "lab", Priority.URGENT)


@pytest.mark.parametrize(
    ("written", "priority"),
    [("crit", Priority.URGENT), ("prod", Priority.HIGH), ("test", Priority.NORMAL), ("oppo", Priority.LOW)],
)
def test_priority_classes_of_hived_are_priorities(written: str, priority: Priority) -> None:
    job = spec(at_top(f"extras: {{hivedScheduler: {{jobPriorityClass: {written}}}}}"))
    assert (job.priority, job.preemptible) == (priority, True)


def test_default_virtual_cluster_is_nowhere_in_particular() -> None:
    assert spec(at_top("defaults: {virtualCluster: default}")).cluster is None


@pytest.mark.parametrize(
    ("text", "line", "path"),
    [
        (in_worker("taskRetryCount: 3"), 11, "taskRoles.worker.taskRetryCount"),
        (in_worker("extraContainerOptions: {shmMB: 64}"), 11, "taskRoles.worker.extraContainerOptions.shmMB"),
        (at_top("extras: {gangAllocation: false}"), 4, "extras.gangAllocation"),
        (at_top("extras: {storages: []}"), 4, "extras.storages"),
        (at_top(f"description: {'x' * 5000}"), 4, "description"),
        (changed(JOB, "$parameters.lr", "$data.uri[0]"), 13, "taskRoles.worker.commands"),
        (
            changed(JOB, "type: dockerimage,", "type: dockerimage, callbacks: [{event: taskStarts}],"),
            5,
            "prerequisites[0].callbacks",
        ),
        (at_top("extras: {jobStatusChangeNotification: {failed: true}}"), 4, "extras.jobStatusChangeNotification"),
        (
            at_top("extras: {hivedScheduler: {taskRoles: {worker: {skuType: K80}}}}"),
            4,
            "extras.hivedScheduler.taskRoles",
        ),
        (
            at_top("extras: {hivedScheduler: {jobPriorityClass: weird}}"),
            4,
            "extras.hivedScheduler.jobPriorityClass: 'weird' has no effect: it is none of HiveD's classes",
        ),
        (
            at_top("extras: {hivedScheduler: {lazyPreemptionEnable: true}}"),
            4,
            "extras.hivedScheduler.lazyPreemptionEnable",
        ),
        (
            at_top("extras: {com.microsoft.pai.runtimeplugin: [{plugin: tensorboard}]}"),
            4,
            "extras.com.microsoft.pai.runtimeplugin[0]",
        ),
        (changed(JOB, "$parameters.lr", "$parameters.rl"), 13, "taskRoles.worker.commands"),
    ],
)
def test_what_has_no_effect_is_one_warning_with_its_line(text: str, line: int, path: str) -> None:
    warnings = read_source(text).warnings

    assert len(warnings) == 1
    assert warnings[0].startswith(f"line {line}: {path}")


@pytest.mark.parametrize(
    ("text", "line", "path", "settled_by"),
    [
        (at_top("secrets: hunter2"), 4, "secrets", None),
        (changed(JOB, "type: dockerimage,", "type: dockerimage, auth: hunter2,"), 5, "prerequisites[0].auth", None),
        (changed(JOB, "$parameters.lr", "$secrets.token"), 13, "taskRoles.worker.commands", None),
        (in_worker("data: gone"), 11, "taskRoles.worker.data", None),
        (changed(JOB, ', uri: "repo/train:1"', ""), 5, "prerequisites[0].uri", {"runtime.image": None}),
        (
            changed(JOB, "parameters:\n", "  - {name: d, type: data, uri: one}\nparameters:\n"),
            6,
            "prerequisites[1].uri",
            None,
        ),
        (changed(JOB, '" sleep 1 "', "false"), 18, "taskRoles.ps_server.commands", None),
        (in_worker("prerequisites: [gone]"), 11, "taskRoles.worker.prerequisites[0]", None),
        (
            changed(JOB, "parameters:\n", "  - {name: img, type: dockerimage, uri: x}\nparameters:\n"),
            6,
            "prerequisites[1]",
            None,
        ),
        (
            changed(JOB, "parameters:\n", "  - {name: m, type: model, uri: x}\nparameters:\n"),
            6,
            "prerequisites[1].type",
            None,
        ),
        (at_top("deployments: [{name: d, taskRoles: {}}, {name: d, taskRoles: {}}]"), 4, "deployments[1]", None),
        (at_top("extras: {storages: [{mountPath: /data}]}"), 4, "extras.storages[0]", {"mounts": []}),
        (at_top("tpye: x"), 4, "tpye", None),
        (at_top("defaults: {deployment: gone}"), 4, "defaults.deployment", None),
        (changed(JOB, "type: job", "type: image"), 3, "type", None),
        (
            changed(JOB, "type: dockerimage,", "type: dockerimage, auth: {password: hunter2},"),
            5,
            "prerequisites[0].auth.username",
            {"runtime.pullSecret": None},
        ),
        (
            at_top("extras: {com.microsoft.pai.runtimeplugin: [{plugin: marketplace}]}"),
            4,
            "extras.com.microsoft.pai.runtimeplugin[0]",
            None,
        ),
        (
            changed(JOB, "    instances: 2\n    dockerImage: img", "    instances: 2\n    dockerImage: no"),
            11,
            "taskRoles.worker.dockerImage",
            {"runtime.image": None},
        ),
        (
            changed(JOB, "{cpu: 2, ", "{"),
            12,
            "taskRoles.worker.resourcePerInstance.cpu",
            {"roles.worker.resources.cpu": 1},
        ),
        (changed(JOB, "grpc: 2", "grpc: many"), 12, "taskRoles.worker.resourcePerInstance.ports.grpc", None),
        (
            changed(JOB, '    commands: [" sleep 1 ", echo bye]\n', ""),
            15,
            "taskRoles.ps_server.commands",
            {"roles.ps_server.command": "x"},
        ),
        (in_worker("completion: {minFailed: 1}"), 11, "taskRoles.worker.completion.minFailed", None),
        (changed(JOB, "instances: 2", "instances: two"), 10, "taskRoles.worker.instances", None),
        (changed(JOB, "  worker:\n", "  a-b:\n"), 9, "taskRoles.a-b", None),
    ],
)
def test_what_cannot_be_honoured_is_one_problem_with_its_line(
    text: str, line: int, path: str, settled_by: dict[str, object] | None
) -> None:
    found = problems(text)

    assert len(found) == 1, found
    assert found[0].startswith(f"line {line}: {path}: ")
    assert "hunter2" not in found[0]
    if settled_by is not None:
        read_source(text, overrides=settled_by)


def test_roles_with_different_images_are_refused() -> None:
    two = changed(JOB, "parameters:\n", '  - {name: other, type: dockerimage, uri: "repo/other:1"}\nparameters:\n')
    text = changed(two, "  ps_server:\n    dockerImage: img", "  ps_server:\n    dockerImage: other")

    assert len(problems(text)) == 1
    assert problems(text)[0].startswith("line 17: taskRoles.ps_server.dockerImage: differs from that of worker")
    assert spec(text, {"runtime.image": "repo/both"}).runtime.image == "repo/both"
