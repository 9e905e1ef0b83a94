"""A PaddleJob, field by field: what it becomes, and the one thing said of what cannot be."""

from pathlib import Path

import pytest

from muster.domain.resources import Resources
from muster.domain.specs import Framework, Mount, Priority, Where
from muster.wire.specs import read_source
from tests.unit.wire_dialects.reading import changed, problems, spec, translated

pytestmark = pytest.mark.fast

JOB = """\
apiVersion: batch.paddlepaddle.org/v1
kind: PaddleJob
metadata:
  name: demo
spec:
  withGloo: 2
  worker:
    replicas: 2
    template:
      spec:
        containers:
          - name: paddle
            image: repo/worker:v1
            command: [python]
            args: [train.py, 3]
  ps:
    replicas: 1
    template:
      spec:
        containers:
          - name: paddle
            image: repo/worker:v1
            command: [python, serve.py]
"""
WORKER = "spec.worker.template.spec"
CONTAINER = f"{WORKER}.containers[0]"


def in_spec(text: str) -> str:
    return changed(JOB, "  withGloo: 2\n", f"  withGloo: 2\n{text}\n")


def in_worker_pod(text: str) -> str:
    return changed(JOB, "args: [train.py, 3]\n", f"args: [train.py, 3]\n        {text}\n")


def in_worker_container(text: str) -> str:
    return changed(JOB, "args: [train.py, 3]\n", f"args: [train.py, 3]\n            {text}\n")


def test_plain_job_needs_no_word() -> None:
    reading = read_source(JOB)

    assert reading.warnings == ()
    assert (reading.spec.name, reading.spec.framework, reading.spec.gloo) == ("demo", Framework.PADDLE, 2)
    assert reading.spec.runtime.image == "repo/worker:v1"
    assert reading.spec.role("worker").command == ("python", "train.py", "3")
    assert reading.spec.role("ps").replicas == 1


def test_container_without_a_command_runs_the_entry_point_of_its_image() -> None:
    bare = changed(JOB, "            command: [python]\n            args: [train.py, 3]\n", "")
    assert spec(bare).role("worker").command == ()
    told = problems(bare, {"runtime.image": None})
    assert [problem.partition(" (")[0] for problem in told] == [f"line 12: {CONTAINER}.command: is required"]


def test_arguments_alone_are_those_of_the_entry_point_of_the_image() -> None:
    bare = changed(JOB, "            command: [python]\n", "")
    worker = spec(bare).role("worker")
    assert (worker.command, worker.args) == ((), ("train.py", "3"))
    assert spec(bare, {"runtime.image": None, "roles.worker.command": "x"}).role("worker").args == ()


@pytest.mark.parametrize("path", sorted((Path(__file__).parents[3] / "deploy" / "examples").glob("*.yaml")), ids=str)
def test_examples_of_the_operator_are_taken_as_they_are(path: Path) -> None:
    assert read_source(path.read_text()).spec.framework is Framework.PADDLE


def test_heter_workers_become_a_role_of_their_own() -> None:
    heter = '  heter: {replicas: 3, template: {spec: {containers: [{command: [h], image: "repo/worker:v1"}]}}}'
    assert spec(in_spec(heter)).role("heter").replicas == 3


def test_overrides_speak_of_the_muster_spec() -> None:
    changed_job = spec(JOB, {"roles.worker.replicas": 5, "runtime.image": None, "name": "other"})

    assert changed_job.role("worker").replicas == 5
    assert changed_job.runtime.image is None
    assert changed_job.name == "other"


def test_literal_env_labels_and_resources_are_taken() -> None:
    text = in_worker_container(
        "env: [{name: A, value: '1'}, {name: B}]\n"
        "            resources: {limits: {cpu: 2, memory: 1Gi, nvidia.com/gpu: 1}}"
    )
    job = spec(changed(text, "  name: demo\n", "  name: demo\n  labels: {team: ads}\n"))

    assert dict(job.role("worker").env) == {"A": "1", "B": ""}
    assert job.role("worker").resources == Resources(2000, 1 << 30, 1)
    assert dict(job.labels) == {"team": "ads"}


def test_extended_resources_become_devices() -> None:
    text = in_worker_container("resources: {limits: {cpu: 1, xilinx.com/fpga: '2'}, requests: {amd.com/gpu: 1}}")

    assert spec(text).role("worker").resources == Resources(1000, gpus=1, extended=(("xilinx.com/fpga", 2),))


def test_resources_of_kubernetes_itself_are_refused_with_what_muster_gives() -> None:
    (problem,) = problems(in_worker_container("resources: {limits: {hugepages-2Mi: 1Gi}}"))

    assert "extended resources such as xilinx.com/fpga" in problem


def test_host_paths_become_mounts_of_the_job() -> None:
    text = in_worker_container(
        "volumeMounts: [{name: d, mountPath: /data, subPath: criteo, readOnly: true}]\n"
        "        volumes: [{name: d, hostPath: {path: /mnt/}}]"
    )
    reading = read_source(text)

    assert reading.spec.mounts == (Mount("/mnt/criteo", "/data", True),)
    assert reading.warnings == (
        f"line 16: {CONTAINER}.volumeMounts[0]: /data is mounted in every role, not only in worker",
    )


def test_priority_class_of_ours_is_the_priority() -> None:
    reading = read_source(in_spec("  schedulingPolicy: {priorityClass: high, minAvailable: 3}"))

    assert reading.spec.priority is Priority.HIGH
    assert reading.warnings == ()


def test_bounds_of_an_elastic_job_have_an_effect_only_as_overrides() -> None:
    bounded = changed(in_spec("  elastic: 1"), "    replicas: 2\n", "    replicas: 2\n    requests: 1\n    limits: 4\n")
    reading = read_source(bounded)
    overridden = read_source(bounded, overrides={"roles.worker.min": 1, "roles.worker.max": 4})

    assert not reading.spec.role("worker").is_elastic
    worker, ps = overridden.spec.role("worker"), overridden.spec.role("ps")
    assert (worker.min_replicas, worker.replicas, worker.max_replicas) == (1, 2, 4)
    assert not ps.is_elastic


def test_nodes_that_all_roles_select_are_those_of_the_job() -> None:
    selector = "nodeSelector: {disk: ssd, tier: 1, kubernetes.io/hostname: n1}"
    text = changed(in_worker_pod(selector), "[python, serve.py]\n", f"[python, serve.py]\n        {selector}\n")
    reading = read_source(text)

    assert reading.spec.where == Where(nodes=("n1",), labels={"disk": "ssd", "tier": "1"})
    assert reading.warnings == ()


@pytest.mark.parametrize(
    ("text", "line", "path"),
    [
        (in_spec("  cleanPodPolicy: Always"), 7, "spec.cleanPodPolicy"),
        (in_spec("  cleanPolicy: Always"), 7, "spec.cleanPolicy"),
        (in_spec("  intranet: Service"), 7, "spec.intranet"),
        (in_spec("  elastic: 1"), 7, "spec.elastic"),
        (changed(JOB, "    replicas: 2\n", "    replicas: 2\n    requests: 1\n"), 9, "spec.worker.requests"),
        (in_spec("  schedulingPolicy: {priorityClass: gold}"), 7, "spec.schedulingPolicy.priorityClass"),
        (in_spec("  schedulingPolicy: {queue: q1}"), 7, "spec.schedulingPolicy.queue"),
        (in_spec("  schedulingPolicy: {minAvailable: 2}"), 7, "spec.schedulingPolicy.minAvailable"),
        (in_spec("  schedulingPolicy: {minResources: {cpu: 1}}"), 7, "spec.schedulingPolicy.minResources"),
        (in_spec("  schedulingPolicy: {colour: red}"), 7, "spec.schedulingPolicy.colour"),
        (changed(JOB, "  name: demo", "  name: demo\n  namespace: x"), 5, "metadata.namespace"),
        (in_worker_pod("restartPolicy: OnFailure"), 16, f"{WORKER}.restartPolicy"),
        (in_worker_pod("schedulerName: mine"), 16, f"{WORKER}.schedulerName"),
        (in_worker_pod("tolerations: [{key: gpu}]"), 16, f"{WORKER}.tolerations"),
        (in_worker_pod("hostNetwork: true"), 16, f"{WORKER}.hostNetwork"),
        (in_worker_container("imagePullPolicy: Always"), 16, f"{CONTAINER}.imagePullPolicy"),
        (in_worker_container("ports: [{containerPort: 1}]"), 16, f"{CONTAINER}.ports"),
        (in_worker_container("env: [{name: POD_IP, value: 1.2.3.4}]"), 16, f"{CONTAINER}.env[0]"),
        (
            in_worker_container("resources: {requests: {cpu: 1}, limits: {cpu: 2}}"),
            16,
            f"{CONTAINER}.resources.requests.cpu",
        ),
        (
            in_worker_container("resources: {limits: {ephemeral-storage: 1Gi}}"),
            16,
            f"{CONTAINER}.resources.limits.ephemeral-storage",
        ),
        (
            in_worker_container("volumeMounts: [{name: s, mountPath: /dev/shm}]\n        volumes: [{name: s}]"),
            17,
            f"{WORKER}.volumes[0]",
        ),
    ],
)
def test_what_has_no_effect_is_one_warning_with_its_line(text: str, line: int, path: str) -> None:
    reading = read_source(text)

    assert len(reading.warnings) == 1
    assert reading.warnings[0].startswith(f"line {line}: {path}: ")


@pytest.mark.parametrize(
    ("text", "line", "path", "settled_by"),
    [
        (in_spec("  sampleSetRef: {name: s}"), 7, "spec.sampleSetRef", {"mounts": []}),
        (in_worker_pod("initContainers: [{name: i}]"), 16, f"{WORKER}.initContainers", None),
        (in_worker_pod("affinity: {}"), 16, f"{WORKER}.affinity", {"where": {}}),
        (in_worker_pod("nodeSelector: {disk: ssd}"), 16, f"{WORKER}.nodeSelector.disk", {"where.labels": {}}),
        (in_worker_pod("nodeSelector: {gpu: ''}"), 16, f"{WORKER}.nodeSelector.gpu", {"where.labels": {"gpu": ""}}),
        (
            in_worker_pod("nodeSelector: {kubernetes.io/hostname: n1}"),
            16,
            f"{WORKER}.nodeSelector.kubernetes.io/hostname",
            {"where.nodes": "n1"},
        ),
        (in_worker_pod("  - name: sidecar"), 16, f"{WORKER}.containers[1]", None),
        (
            in_worker_container("workingDir: /x"),
            23,
            "spec.ps.template.spec.containers[0].image",
            {"runtime.workdir": "/x"},
        ),
        (in_worker_container("envFrom: [{configMapRef: {name: c}}]"), 16, f"{CONTAINER}.envFrom[0]", None),
        (
            in_worker_container("env: [{name: T, valueFrom: {configMapKeyRef: {name: s}}}]"),
            16,
            f"{CONTAINER}.env[0].valueFrom",
            {"roles.worker.env.T": "x"},
        ),
        (
            in_worker_container("resources: {limits: {hugepages-2Mi: 1Gi}}"),
            16,
            f"{CONTAINER}.resources.limits.hugepages-2Mi",
            {"roles.worker.resources": {"cpu": 1}},
        ),
        (
            in_worker_container(
                "volumeMounts: [{name: s, mountPath: /s}]\n        volumes: [{name: s, nfs: {server: nas}}]"
            ),
            17,
            f"{WORKER}.volumes[0]",
            {"mounts": []},
        ),
        (in_worker_container("volumeMounts: [{name: no}]"), 16, f"{CONTAINER}.volumeMounts[0]", {"mounts": []}),
        (
            changed(changed(JOB, "            command: [python]\n", ""), "[train.py, 3]", '["$(PADDLE_TRAINER_ID)"]'),
            12,
            f"{CONTAINER}.command",
            {"roles.worker.command": "x"},
        ),
        (changed(JOB, "    replicas: 2\n", ""), 7, "spec.worker.replicas", {"roles.worker.replicas": 1}),
        (
            changed(
                JOB, "worker:v1\n            command: [python, serve", "ps:v1\n            command: [python, serve"
            ),
            22,
            "spec.ps.template.spec.containers[0].image",
            {"runtime.image": None},
        ),
    ],
)
def test_what_cannot_be_honoured_is_one_problem_with_its_line(
    text: str, line: int, path: str, settled_by: dict[str, object] | None
) -> None:
    found = problems(text)

    assert len(found) == 1
    assert found[0].startswith(f"line {line}: {path}: ")
    if settled_by is not None:
        read_source(text, overrides=settled_by)


def test_problem_of_the_spec_is_told_of_the_file() -> None:
    assert problems(changed(JOB, "withGloo: 2", "withGloo: 7"))[0].startswith("line 6: spec.withGloo: ")
    assert problems(changed(JOB, "name: demo", "name: -demo-"))[0].startswith("line 4: metadata.name: ")


def test_problem_of_an_override_keeps_the_words_of_the_override() -> None:
    assert problems(JOB, {"roles.worker.replicas": -3})[0].startswith("roles.worker.replicas: ")


def test_job_without_any_role_is_refused() -> None:
    text = "apiVersion: batch.paddlepaddle.org/v1\nkind: PaddleJob\nmetadata: {name: x}\nspec: {}\n"
    assert problems(text)[0].startswith("line 4: spec: has neither `worker` nor `ps`")


def test_shell_substitution_is_not_taken_for_a_variable() -> None:
    assert translated(changed(JOB, "[train.py, 3]", '["-c", "echo $(hostname)"]')).warnings == ()
