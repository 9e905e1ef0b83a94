"""What the tasks of a PaddleJob find, as paddle-operator's documents have it."""

from pathlib import Path

import pytest

from tests.conformance.started_tasks import HERE, environment_in_a_gang_of, read, started

pytestmark = pytest.mark.fast

JOB = """\
apiVersion: batch.paddlepaddle.org/v1
kind: PaddleJob
metadata: {{name: demo, namespace: ads}}
spec:
  {spec}
  worker:
    replicas: 2
    template:
      spec:
        {pod}
        containers:
          - image: paddle:2.4
            {container}
"""
PS = "ps: {replicas: 1, template: {spec: {containers: [{image: 'paddle:2.4', command: [env]}]}}}"


def job(container: str = "command: [env]", *, spec: str = "withGloo: 0", pod: str = "restartPolicy: Never") -> str:
    return JOB.format(spec=spec, pod=pod, container=container)


def test_every_task_finds_the_variables_of_the_operator(tmp_path: Path) -> None:
    tasks = started(job(spec=f"withGloo: 1\n  {PS}"), tmp_path)

    worker, server = tasks["worker-1"].env, tasks["ps-0"].env
    assert (worker["PADDLE_TRAINER_ID"], worker["TRAINING_ROLE"], worker["PADDLE_TRAINING_ROLE"]) == (
        ("1", "TRAINER", "TRAINER")
    )
    assert (server["PADDLE_TRAINER_ID"], server["TRAINING_ROLE"]) == ("0", "PSERVER")
    assert worker["TRAINER_PORTS_NUM"] == server["TRAINER_PORTS_NUM"] == "20"
    assert worker["PADDLE_TRAINERS_NUM"] == "2"
    assert len(worker["PADDLE_TRAINER_ENDPOINTS"].split(",")) == len(worker["PADDLE_TRAINERS"].split(",")) == 2
    assert worker["PADDLE_PSERVERS_IP_PORT_LIST"] == f"{server['POD_IP']}:{server['PADDLE_PORT']}"
    assert (worker["PADDLE_WITH_GLOO"], worker["PADDLE_GLOO_RENDEZVOUS"]) == ("1", "3")


def test_heter_workers_have_their_role_and_everybody_their_endpoints(tmp_path: Path) -> None:
    heter = PS.replace("ps:", "heter:")
    tasks = started(job(spec=heter), tmp_path)

    own = tasks["heter-0"].env
    assert (own["TRAINING_ROLE"], own["PADDLE_TRAINER_ID"], own["PADDLE_TRAINERS_NUM"]) == ("HETER", "0", "2")
    assert tasks["worker-0"].env["PADDLE_HETER_ENDPOINTS"] == f"{own['POD_IP']}:{own['PADDLE_PORT']}"


def test_elastic_job_knows_its_id_and_size(tmp_path: Path) -> None:
    env = started(job(spec="elastic: 1"), tmp_path)["worker-0"].env

    assert env["PADDLE_ELASTIC_JOB_ID"] == "ads-demo"
    assert (env["PADDLE_ELASTIC_NP"], env["PADDLE_ELASTIC_TIMEOUT"]) == ("2", "60")


@pytest.mark.parametrize("count", [2, 3, 4])
def test_elastic_job_counts_the_tasks_that_run_in_the_attempt(count: int) -> None:
    bounds = {**HERE, "roles.worker.min": 1, "roles.worker.max": 4}
    env = environment_in_a_gang_of(count, read(job(spec="elastic: 1"), bounds).spec)

    assert env["PADDLE_ELASTIC_NP"] == env["PADDLE_TRAINERS_NUM"] == str(count)


def test_job_that_is_not_elastic_has_no_variables_of_an_elastic_one(tmp_path: Path) -> None:
    assert not [name for name in started(job(), tmp_path)["worker-0"].env if name.startswith("PADDLE_ELASTIC")]


@pytest.mark.parametrize("spec", ["elastic: 1", "withGloo: 1"])
def test_bounds_of_a_role_have_no_effect_as_the_operator_never_reads_them(spec: str) -> None:
    reading = read(job(spec=spec).replace("replicas: 2", "replicas: 2\n    requests: 1\n    limits: 4"))
    worker = reading.spec.role("worker")

    assert (worker.replicas, worker.is_elastic) == (2, False)
    least, most = (next(one for one in reading.warnings if f"spec.worker.{key}: " in one) for key in BOUNDS)
    assert "--set roles.worker.min=1 lets the number change" in least
    assert "--set roles.worker.max=4 lets the number change" in most


BOUNDS = ("requests", "limits")


def test_variable_of_the_file_wins_over_the_config_map_and_not_over_the_pod(tmp_path: Path) -> None:
    variables = "[{name: PADDLE_PORT, value: '7000'}, {name: PADDLE_TRAINER_ID, value: '9'}]"
    text = job(f"command: [env]\n            env: {variables}")
    env = started(text, tmp_path)["worker-1"].env

    assert (env["PADDLE_PORT"], env["PADDLE_TRAINER_ID"]) == ("7000", "1")
    assert any("PADDLE_TRAINER_ID has no effect" in warning for warning in read(text).warnings)


@pytest.mark.parametrize(
    ("word", "printed"),
    [
        ("$(LR)", "0.1"),
        ("id=$(PADDLE_TRAINER_ID)!", "id=0!"),
        ("$$(LR)", "$(LR)"),
        ("$$$(LR)", "$0.1"),
        ("$(nobody)", "$(nobody)"),
        ("$HOME $5 $", "$HOME $5 $"),
        ("a 'b' \"c\" $(PADDLE_TRAINERS_NUM)", "a 'b' \"c\" 2"),
        ("$(PADDLE_PSERVERS_IP_PORT_LIST)", "$(PADDLE_PSERVERS_IP_PORT_LIST)"),
    ],
)
def test_references_are_expanded_as_kubernetes_does(tmp_path: Path, word: str, printed: str) -> None:
    quoted = word.replace("'", "''")
    text = job(
        f"command: [printf, '%s']\n            args: ['{quoted}']\n            env: [{{name: LR, value: '0.1'}}]"
    )

    assert started(text, tmp_path)["worker-0"].output == printed


def test_references_in_variables_see_what_comes_before_them(tmp_path: Path) -> None:
    variables = (
        "[{name: LATE, value: '$(A)'}, {name: A, value: '1'}, {name: B, value: '$(A)$$(A)'},"
        " {name: N, value: 'of $(PADDLE_TRAINERS_NUM)'}, {name: ID, value: '$(PADDLE_TRAINER_ID)'}]"
    )
    env = started(job(f"command: [env]\n            env: {variables}"), tmp_path)["worker-0"].env

    assert (env["LATE"], env["B"], env["N"]) == ("$(A)", "1$(A)", "of 2")
    assert env["ID"] == "$(PADDLE_TRAINER_ID)", "the operator appends it after the variables of the file"


def test_fields_of_the_pod_are_those_of_the_task(tmp_path: Path) -> None:
    fields = {"NAME": "metadata.name", "SPACE": "metadata.namespace", "IP": "status.podIP", "NODE": "spec.nodeName"}
    items = ", ".join(f"{{name: {n}, valueFrom: {{fieldRef: {{fieldPath: {path}}}}}}}" for n, path in fields.items())
    env = started(job(f"command: [env]\n            env: [{items}]"), tmp_path)["worker-1"].env

    assert (env["NAME"], env["SPACE"], env["NODE"]) == ("demo-worker-1", "ads", "n2")
    assert env["IP"] == env["POD_IP"]


def test_times_and_nodes_of_the_pod_are_those_of_the_job() -> None:
    pod = "terminationGracePeriodSeconds: 90\n        activeDeadlineSeconds: 600\n        nodeName: gpu-3"
    spec = read(job(pod=pod)).spec

    assert (spec.grace_s, spec.time_limit_s, spec.where.nodes) == (90.0, 600.0, ("gpu-3",))
    assert read(job()).spec.grace_s == 30.0, "what Kubernetes gives a pod that does not say"


def test_container_starts_where_its_image_or_the_file_says() -> None:
    assert read(job(), {}).spec.runtime.workdir == "image"
    assert read(job("command: [env]\n            workingDir: /app"), {}).spec.runtime.workdir == "/app"


def test_what_belongs_to_the_image_goes_with_it() -> None:
    text = job("command: [env]\n            workingDir: /app", pod="imagePullSecrets: [{name: registry}]")
    runtime = read(text, {"runtime.image": None}).spec.runtime

    assert (runtime.workdir, runtime.pull_secret) == (None, None)


def test_claims_and_sample_sets_are_storages_and_pull_secrets_are_secrets() -> None:
    container = "command: [env]\n            volumeMounts: [{name: d, mountPath: /data, readOnly: true}]"
    pod = "volumes: [{name: d, persistentVolumeClaim: {claimName: nfs}}]\n        imagePullSecrets: [{name: registry}]"
    spec = read(job(container, pod=pod, spec="sampleSetRef: {name: imagenet, mountPath: /imagenet}"), {}).spec

    assert [(mount.storage, mount.target, mount.read_only) for mount in spec.mounts] == [
        ("imagenet", "/imagenet", False),
        ("nfs", "/data", True),
    ]
    assert spec.runtime.pull_secret == "registry"


def test_key_of_a_secret_is_a_secret_of_the_owner() -> None:
    variables = "[{name: TOKEN, valueFrom: {secretKeyRef: {name: hub, key: token}}}]"
    (use,) = read(job(f"command: [env]\n            env: {variables}")).spec.secrets

    assert (use.name, use.env) == ("hub.token", "TOKEN")


def test_volumes_are_not_made_on_the_node_of_a_task_without_a_container_of_its_own(tmp_path: Path) -> None:
    cache, code = tmp_path / "cache", tmp_path / "code"
    mounts = f"[{{name: c, mountPath: {cache}}}, {{name: f, mountPath: {code}}}]"
    volumes = "[{name: c, emptyDir: {}}, {name: f, configMap: {name: files}}]"
    files = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: files}\ndata: {train.py: 'print(1)'}\n"
    text = job(f"command: [env]\n            volumeMounts: {mounts}", pod=f"volumes: {volumes}") + files
    task = started(text, tmp_path)["worker-0"]

    assert (task.code, "needs a container" in task.errors, task.output) == (1, True, "")
    assert not cache.exists()
    assert not code.exists()


@pytest.mark.parametrize("volume", ["emptyDir: {}", "configMap: {name: files}"])
def test_command_does_not_run_if_its_volume_cannot_be_made_in_the_container(tmp_path: Path, volume: str) -> None:
    (tmp_path / "file").touch()
    inside = tmp_path / "file" / "cache"
    container = f"command: [echo, ran]\n            volumeMounts: [{{name: c, mountPath: {inside}}}]"
    files = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: files}\ndata: {train.py: 'print(1)'}\n"
    text = job(container, pod=f"volumes: [{{name: c, {volume}}}]") + files
    task = started(text, tmp_path, {})["worker-0"]

    assert (task.code, task.output) == (1, "")
    assert task.errors.startswith(f"muster: {inside}")
    assert task.errors.endswith("of the job file cannot be made in the container\n")


def test_volumes_are_there_before_the_command_of_a_task_with_an_image(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    container = f"command: [test, -d, {cache}]\n            volumeMounts: [{{name: c, mountPath: {cache}}}]"
    task = started(job(container, pod="volumes: [{name: c, emptyDir: {}}]"), tmp_path, {})["worker-0"]

    assert (task.code, cache.is_dir()) == (0, True)
