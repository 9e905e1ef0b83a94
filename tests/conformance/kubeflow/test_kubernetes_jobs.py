"""Jobs and Pods of Kubernetes itself, and files with other documents beside the job."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from muster.client.kube_kinds import KUBE_JOBS, is_kube_job
from muster.domain.errors import Invalid
from muster.domain.jobs import JOB_STATES
from muster.wire.dialects.detecting import DIALECTS
from tests.conformance.started_tasks import read, started

pytestmark = pytest.mark.fast

CONTAINER = {"name": "main", "image": "repo/train:1", "command": ["env"]}


def kube_job(pod: dict[str, Any] | None = None, **spec: Any) -> str:
    template = {"spec": {"restartPolicy": "Never", "containers": [CONTAINER], **(pod or {})}}
    document = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "demo"}}
    return yaml.safe_dump({**document, "spec": {"template": template, **spec}}, sort_keys=False)


def pod(**spec: Any) -> str:
    document = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "demo"}}
    return yaml.safe_dump({**document, "spec": {"containers": [CONTAINER], **spec}}, sort_keys=False)


@pytest.mark.parametrize(
    ("spec", "tasks", "retries"),
    [
        ({}, 1, 6),
        ({"backoffLimit": 0}, 1, 0),
        ({"parallelism": 3}, 3, 6),
        ({"parallelism": 4, "completions": 2}, 2, 6),
        ({"completions": 1, "parallelism": 1, "backoffLimit": 1000}, 1, 100),
    ],
)
def test_job_of_kubernetes_has_its_pods_and_retries(spec: dict[str, Any], tasks: int, retries: int) -> None:
    found = read(kube_job(**spec)).spec

    assert (found.task_count, found.retry_max) == (tasks, retries)


def test_indexed_job_tells_each_pod_its_index(tmp_path: Path) -> None:
    ran = started(kube_job(parallelism=2, completions=2, completionMode="Indexed"), tmp_path)

    assert [ran[name].env["JOB_COMPLETION_INDEX"] for name in ("worker-0", "worker-1")] == ["0", "1"]


def test_suspended_job_is_held_and_a_deadline_is_its_time_limit() -> None:
    spec = read(kube_job(suspend=True, activeDeadlineSeconds=90)).spec

    assert (spec.held, spec.time_limit_s) == (True, 90.0)


def test_text_that_only_looks_like_the_name_of_a_pod_is_none() -> None:
    read(
        kube_job(
            {"containers": [{**CONTAINER, "command": ["train", "demo-50", "demo-worker-00x", "my-demo-worker-0"]}]}
        )
    )


def test_pod_is_a_job_of_one_task() -> None:
    reading = read(pod(restartPolicy="Never"))

    assert (reading.spec.task_count, reading.warnings) == (1, ())


@pytest.mark.parametrize(
    ("text", "words", "way_out"),
    [
        (kube_job(completions=5, parallelism=2), "2 at a time", {"roles.worker.replicas": 5}),
        (kube_job(podFailurePolicy={"rules": []}), "which failures", {"retry.max": 0}),
        (
            kube_job({"subdomain": "peers", "containers": [{**CONTAINER, "command": ["ping", "demo-0.peers"]}]}),
            "by its name",
            {"roles.worker.command": "true"},
        ),
        (
            kube_job({"containers": [{**CONTAINER, "env": [{"name": "LEAD", "value": "tcp://demo-worker-0:1"}]}]}),
            "by its name",
            {"roles.worker.env.LEAD": "x"},
        ),
        (pod(), "always restarted", {"retry.max": 0}),
        (pod(restartPolicy="Always"), "always restarted", {"retry.max": 0}),
        (kube_job({"restartPolicy": None}), "Kubernetes refuses it", {"retry.max": 0}),
        (kube_job({"restartPolicy": "Always"}), "Kubernetes refuses it", {"retry.max": 0}),
        (pod(restartPolicy="Never", hostAliases=[{}]), "adds no names", None),
    ],
)
def test_what_cannot_be_run_as_it_is_is_refused_with_a_way_out(
    text: str, words: str, way_out: dict[str, Any] | None
) -> None:
    with pytest.raises(Invalid) as refused:
        read(text)
    assert any(words in str(problem) for problem in refused.value.problems)
    if way_out is not None:
        read(text, {"runtime.image": None, **way_out})


BESIDE = """\
apiVersion: v1
kind: {kind}
metadata: {{name: other}}
---
"""


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("Service", "tasks find each other"),
        ("ConfigMap", "the job does not name it"),
        ("Namespace", "no namespaces"),
        ("PersistentVolumeClaim", "a storage of the cluster"),
        ("Widget", "only the Job demo (batch/v1) is submitted"),
    ],
)
def test_each_document_beside_the_job_is_said_to_be_left_alone(kind: str, words: str) -> None:
    (warning,) = read(BESIDE.format(kind=kind) + kube_job()).warnings

    assert warning.startswith(f"line 1: the {kind} other (v1) is left alone: ")
    assert words in warning


SETTINGS = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {LR: "0.1", LITERAL: $(LR), train.py: "print('it''s')", bad-name: x}
---
"""


def test_variables_come_from_a_config_map_of_the_same_file(tmp_path: Path) -> None:
    one = {"name": "ONE", "valueFrom": {"configMapKeyRef": {"name": "settings", "key": "LR"}}}
    own = [{"name": "LR", "value": "0.2"}, one, {"name": "BOTH", "value": "$(P_LR) $(LR)"}]
    sources = [{"configMapRef": {"name": "settings"}}, {"prefix": "P_", "configMapRef": {"name": "settings"}}]
    text = SETTINGS + kube_job({"containers": [{**CONTAINER, "env": own, "envFrom": sources}]})
    env = started(text, tmp_path)["worker-0"].env

    assert (env["LR"], env["P_LR"], env["ONE"], env["BOTH"]) == ("0.2", "0.1", "0.1", "0.1 0.2")
    assert env["LITERAL"] == "$(LR)", "values of a ConfigMap are taken as they are"
    assert read(text).warnings == ()


@pytest.mark.parametrize(
    ("volume", "mount", "wanted"),
    [
        ({}, {"mountPath": "/code"}, "/code/train.py"),
        ({"items": [{"key": "train.py", "path": "a/b.py"}]}, {"mountPath": "/code"}, "/code/a/b.py"),
        ({}, {"mountPath": "/app/train.py", "subPath": "train.py"}, "/app/train.py"),
    ],
)
def test_files_of_a_config_map_of_the_same_file_are_written_into_the_container(
    volume: dict[str, Any], mount: dict[str, Any], wanted: str
) -> None:
    volumes = [{"name": "code", "configMap": {"name": "settings", **volume}}]
    container = {**CONTAINER, "volumeMounts": [{"name": "code", **mount}]}
    script = read(SETTINGS + kube_job({"containers": [container], "volumes": volumes}), {}).spec.roles[0].command[2]

    assert f"> {wanted}" in script


def test_config_map_that_is_not_in_the_file_is_refused_where_it_is_named() -> None:
    sources = [{"configMapRef": {"name": "elsewhere"}}]
    with pytest.raises(Invalid) as refused:
        read(SETTINGS + kube_job({"containers": [{**CONTAINER, "envFrom": sources}]}))
    assert "envFrom[0]" in str(refused.value.problems[0])


def test_lines_are_those_of_the_whole_file() -> None:
    with pytest.raises(Invalid) as refused:
        read(BESIDE.format(kind="Service") + kube_job(podFailurePolicy={}))
    assert refused.value.problems[0].line == 18


def test_program_beside_the_job_is_refused_because_the_job_may_need_it() -> None:
    with pytest.raises(Invalid) as refused:
        read(BESIDE.format(kind="Deployment") + kube_job())
    assert [str(problem) for problem in refused.value.problems] == ["line 1: the Deployment other (v1)"]


@pytest.mark.parametrize("text", [f"{kube_job()}---\n{kube_job()}", f"{kube_job()}---\nname: x\ncommand: y\n"])
def test_file_with_several_jobs_says_what_each_document_is(text: str) -> None:
    with pytest.raises(Invalid) as refused:
        read(text)
    assert "2 jobs among them" in refused.value.message
    assert len(refused.value.problems) == 2


def test_command_line_knows_the_jobs_among_the_documents_of_a_file() -> None:
    versions = ("batch.paddlepaddle.org/v1", "kubeflow.org/v1", "trainer.kubeflow.org/v1alpha1", "batch/v1", "v1")
    pairs = [(kind, version) for kind in KUBE_JOBS for version in (*versions, "batch.volcano.sh/v1alpha1")]
    for kind, version in pairs:
        is_read = any(dialect.recognizes({"kind": kind, "apiVersion": version}) for dialect in DIALECTS)
        assert is_kube_job(kind, version) == is_read, (kind, version)


def test_every_dialect_of_kubernetes_has_a_word_for_every_state() -> None:
    tables = {dialect.name: dialect.states for dialect in DIALECTS if dialect.states}

    assert {"paddlejob", "kubeflow", "trainjob", "volcano", "kubejob", "kubepod"} <= tables.keys()
    for name, states in tables.items():
        assert states.keys() == JOB_STATES.keys(), name


@pytest.mark.parametrize("value", [{"value": "x"}, {"valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}])
def test_name_that_no_shell_takes_for_a_variable_is_refused(value: dict[str, Any]) -> None:
    with pytest.raises(Invalid) as refused:
        read(kube_job({"containers": [{**CONTAINER, "env": [{"name": "a; rm -rf", **value}]}]}))
    assert [str(problem).split(": ")[1] for problem in refused.value.problems] == [
        "spec.template.spec.containers[0].env[0].name"
    ]
