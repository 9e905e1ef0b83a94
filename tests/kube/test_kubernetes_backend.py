"""Jobs of a real server on a real Kubernetes: the file of another cluster with one word changed."""

import re
import secrets
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from tests.parts.kube import Kube, KubeNamespace, new_namespace
from tests.parts.kube_server import CLUSTER, PADDLE_CLUSTER, await_cluster, server_over
from tests.parts.operator_process import running_operator
from tests.parts.paddle_jobs import await_workers, install_definition
from tests.parts.server import MusterServer, polls

pytestmark = [pytest.mark.kube, pytest.mark.xdist_group("kubernetes-backend")]
EXAMPLES = Path(__file__).parents[2] / "examples"
PADDLE_EXAMPLES = Path(__file__).parents[2] / "deploy" / "examples"
LONG = ["sleep", "600"]


@pytest.fixture(scope="module")
def site(kube: Kube, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[MusterServer, KubeNamespace]]:
    base = tmp_path_factory.mktemp("kubernetes")
    install_definition(kube)
    namespace = new_namespace(kube, f"muster-{base.name.lower().replace('_', '-')}-{base.stat().st_ino}")
    (base / "data").mkdir()
    (base / "data" / "words.txt").write_text("from the node\n")
    namespace.create(
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {"lr": "from the map\n"}}
    )
    folders = {"data": str(base / "data"), "settings": {"configMap": "settings"}}
    with (
        running_operator(kube.cluster.kubeconfig, base / "operator.log", f"--namespace={namespace.name}"),
        server_over(namespace, base / "home", {"folders": folders, "imagePullPolicy": "Never"}) as server,
    ):
        yield server, namespace
    namespace.remove()


@pytest.fixture
def server(site: tuple[MusterServer, KubeNamespace]) -> MusterServer:
    return site[0]


@pytest.fixture
def namespace(site: tuple[MusterServer, KubeNamespace]) -> KubeNamespace:
    return site[1]


def submitted(server: MusterServer, command: list[str], **more: Any) -> str:
    resources = more.pop("resources", {"cpu": "50m"})
    spec = {
        "name": f"job-{secrets.token_hex(4)}",
        "cluster": CLUSTER,
        "command": command,
        "resources": resources,
        **more,
    }
    return str(server.submit(spec)["id"])


def becomes(server: MusterServer, job: str, state: str) -> Any:
    found: Any = None
    for _ in polls(120):
        _, found = server.call("GET", f"/api/v1/jobs/{job}")
        if found["state"] == state:
            return found
    raise AssertionError(f"job {job} never became {state}: {found}")


def prints(server: MusterServer, job: str, *words: str) -> None:
    """Wait until the tasks, which run, have printed these words."""
    log = ""
    for _ in polls(60):
        log = server.run("logs", job, check=True).stdout
        if all(one in log for one in words):
            return
    raise AssertionError(f"job {job} printed only: {log}")


def gang(job: str, attempt: int = 1) -> str:
    return f"muster-{job}-{attempt}"


@pytest.mark.parametrize("cluster", [CLUSTER, PADDLE_CLUSTER])
@pytest.mark.parametrize("example", ["wide-and-deep-ps", "collective-ring"])
def test_an_example_runs_with_another_cluster_in_its_file(
    server: MusterServer, namespace: KubeNamespace, example: str, cluster: str, tmp_path: Path
) -> None:
    text = (EXAMPLES / example / "job.yaml").read_text().replace("./src", str(EXAMPLES / example / "src"))
    file = tmp_path / "job.yaml"
    file.write_text(f"cluster: {cluster}\n{text}")
    job = server.json("submit", str(file))
    assert server.wait(job["id"], 120)["state"] == "Succeeded", server.run("explain", job["id"]).stdout
    workers = server.json("get", "workers", job["id"])["items"]
    assert {one["node"] for one in workers} <= {"n1", "n2"}
    assert all(one["state"] in ("Succeeded", "Stopped") for one in workers)
    namespace.await_gone("ConfigMap", gang(job["id"]))
    namespace.await_gone("PaddleJob", gang(job["id"]))
    namespace.await_all("Pod", lambda pods: not pods, f"muster/gang={job['id']}.1")
    log = server.run("logs", job["id"], check=True).stdout
    assert "worker-0" in log
    assert "loss" in log or "accuracy" in log, "it is kept after the pods are gone"


@pytest.mark.parametrize("cluster", [CLUSTER, PADDLE_CLUSTER])
@pytest.mark.parametrize("example", sorted(path.stem for path in PADDLE_EXAMPLES.glob("wide_and_deep*.yaml")))
def test_an_example_of_the_operator_is_submitted_as_it_is(
    server: MusterServer, example: str, cluster: str, tmp_path: Path
) -> None:
    """All but its image, of which there is none here. The entry point of the one that is here ends at once."""
    file = tmp_path / "job.yaml"
    file.write_text(re.sub(r"image: \S+", "image: local/python:1", (PADDLE_EXAMPLES / f"{example}.yaml").read_text()))
    name = f"job-{secrets.token_hex(4)}"
    job = server.json("submit", str(file), "--cluster", cluster, "--name", name)
    assert server.wait(job["id"], 120)["state"] == "Succeeded", server.run("explain", job["id"]).stdout


def test_an_example_of_the_operator_with_gpus_is_refused_for_those_alone(server: MusterServer, tmp_path: Path) -> None:
    file = tmp_path / "job.yaml"
    file.write_text(re.sub(r"image: \S+", "image: local/python:1", (PADDLE_EXAMPLES / "resnet.yaml").read_text()))
    words = ("submit", str(file), "--cluster", CLUSTER, "--hold", "--name")
    refused = server.run(*words, f"job-{secrets.token_hex(4)}")
    if refused.returncode:
        assert "a task of worker asks for 1 GPU, and there are at most 0 on one node" in refused.stderr
    taken = server.run(*words, f"job-{secrets.token_hex(4)}", "--set", "roles.worker.resources.gpu=0")
    assert taken.returncode == 0, taken.stderr


def test_a_job_that_finds_no_node_waits_with_the_words_of_the_scheduler(
    server: MusterServer, namespace: KubeNamespace
) -> None:
    job = submitted(server, LONG, where={"labels": {"test/no-such-label": "yes"}})
    told = ""
    for _ in polls(60):
        told = server.run("explain", job, check=True).stdout
        if "0/2 nodes are available" in told:
            break
    assert "0/2 nodes are available" in told
    server.run("kill", job, check=True)
    assert server.wait(job)["state"] == "Cancelled"
    namespace.await_all("Pod", lambda pods: not pods, f"muster/gang={job}.1")


@pytest.mark.parametrize(("cluster", "kind"), [(CLUSTER, "configmap"), (PADDLE_CLUSTER, "paddlejob")])
def test_who_deletes_the_gang_in_kubernetes_cancels_the_job(
    server: MusterServer, namespace: KubeNamespace, cluster: str, kind: str
) -> None:
    command = ["sh", "-c", "echo it began; exec sleep 600"]
    job = submitted(server, command, cluster=cluster, framework="paddle", replicas=2, retry={"max": 3})
    becomes(server, job, "Running")
    prints(server, job, "it began")
    namespace.kubectl("delete", kind, gang(job))
    ended = server.wait(job)
    assert (ended["state"], ended["attempt"]) == ("Cancelled", 1)
    assert f"{gang(job)} was deleted in Kubernetes" in ended["reason"]
    assert "it began" in server.run("logs", job, check=True).stdout


@pytest.mark.parametrize(("cluster", "kind"), [(CLUSTER, "configmap"), (PADDLE_CLUSTER, "paddlejob")])
def test_who_deletes_the_gang_while_the_server_is_down_cancels_the_job(
    server: MusterServer, namespace: KubeNamespace, cluster: str, kind: str
) -> None:
    job = submitted(server, LONG, cluster=cluster, framework="paddle", replicas=2, grace="1s", retry={"max": 3})
    becomes(server, job, "Running")
    server.kill()
    namespace.kubectl("delete", kind, gang(job))
    namespace.await_all("Pod", lambda pods: not pods, f"muster/gang={job}.1")
    server.start()
    ended = server.wait(job, 120)
    assert (ended["state"], ended["attempt"]) == ("Cancelled", 1)
    assert f"{gang(job)} was deleted in Kubernetes" in ended["reason"]


def test_a_pod_that_was_deleted_while_the_server_is_down_is_a_fault_of_the_platform(
    server: MusterServer, namespace: KubeNamespace
) -> None:
    job = submitted(server, LONG, grace="1s")
    becomes(server, job, "Running")
    server.kill()
    namespace.delete("Pod", f"{gang(job)}-worker-0", grace_s=1)
    namespace.await_gone("Pod", f"{gang(job)}-worker-0")
    server.start()
    for _ in polls(120):
        _, found = server.call("GET", f"/api/v1/jobs/{job}")
        if found["attempt"] == 2 and found["state"] == "Running":
            break
    assert (found["attempt"], found["state"]) == (2, "Running")
    server.run("kill", job, check=True)
    assert server.wait(job)["state"] == "Cancelled"


def test_a_paddle_job_gives_tasks_what_they_have_elsewhere_and_is_stopped_with_its_pods(
    server: MusterServer, namespace: KubeNamespace
) -> None:
    command = ["sh", "-c", "echo $MUSTER_RANK $MUSTER_TASK_NAME $(cat $MUSTER_TASK_DIR/trainer_id); exec sleep 600"]
    roles = {name: {"replicas": 2, "command": command, "resources": {"cpu": "50m"}} for name in ("ps", "worker")}
    name = f"ranks-{secrets.token_hex(4)}"
    job = server.submit({"name": name, "cluster": PADDLE_CLUSTER, "framework": "paddle", "roles": roles})["id"]
    becomes(server, job, "Running")
    wanted = [f"{rank} {name}-{role}-{index} {index}\n" for rank, (role, index) in enumerate(product(roles, range(2)))]
    prints(server, job, *wanted)
    await_workers(namespace, gang(job), 2)
    assert namespace.kubectl("get", "pdj", gang(job)).splitlines()[1].split()[2:5] == ["PS", "2/2", "2/2"]
    server.run("kill", job, check=True)
    assert server.wait(job)["state"] == "Cancelled"
    namespace.await_gone("PaddleJob", gang(job))
    namespace.await_all("Pod", lambda pods: not pods, f"muster/gang={job}.1")
    log = server.run("logs", job, check=True).stdout
    assert [one for one in wanted if one not in log] == []


def test_a_deleted_pod_is_a_fault_of_the_platform(server: MusterServer, namespace: KubeNamespace) -> None:
    job = submitted(server, LONG)
    becomes(server, job, "Running")
    namespace.delete("Pod", f"{gang(job)}-worker-0", grace_s=1)
    for _ in polls(120):
        _, found = server.call("GET", f"/api/v1/jobs/{job}")
        if found["attempt"] == 2 and found["state"] == "Running":
            break
    assert (found["attempt"], found["state"]) == (2, "Running")
    server.run("kill", job, check=True)
    assert server.wait(job)["state"] == "Cancelled"


def test_a_job_ends_as_its_container_did(server: MusterServer) -> None:
    eats = "data = []\nwhile True: data.append(bytearray(1 << 20))"
    jobs = {
        "exit": submitted(server, ["sh", "-c", "exit 7"]),
        "image": submitted(server, LONG, runtime={"image": "local/no-such-image:1"}),
        "memory": submitted(server, ["python3", "-c", eats], resources={"cpu": "50m", "memory": "48Mi"}),
        "not-found": submitted(server, ["no-such-program"]),
    }
    assert {server.wait(job, 120)["state"] for job in jobs.values()} == {"Failed"}
    faults = {name: server.json("explain", job)["fault"]["code"] for name, job in jobs.items()}
    assert faults == {"exit": "exit", "image": "image", "memory": "memory", "not-found": "bad-request"}


def test_folders_of_the_cluster_file_are_mounted(server: MusterServer) -> None:
    mounts = [{"source": "data", "target": "/data", "readOnly": True}, {"source": "settings", "target": "conf"}]
    job = submitted(server, ["sh", "-c", "cat /data/words.txt conf/lr; ! touch /data/x"], mounts=mounts)
    assert server.wait(job)["state"] == "Succeeded"
    log = server.run("logs", job, check=True).stdout
    assert "from the node\n" in log
    assert "from the map\n" in log


def test_the_dry_run_shows_the_objects(server: MusterServer, tmp_path: Path) -> None:
    file = tmp_path / "job.yaml"
    file.write_text(f"name: shown\ncluster: {CLUSTER}\ncommand: 'true'\n")
    shown = server.run("submit", "--dry-run", str(file), check=True).stdout
    assert "kind: Pod" in shown


def test_the_nodes_are_listed(server: MusterServer) -> None:
    nodes = {one["name"]: one for one in server.json("get", "nodes")["items"] if one["cluster"] == CLUSTER}
    assert {"n1", "n2"} <= nodes.keys()


def test_a_server_that_was_killed_adopts_what_runs(server: MusterServer) -> None:
    job = submitted(server, ["sh", "-c", "i=0; while [ $i -lt 600 ]; do echo line $i; i=$((i+1)); sleep 0.1; done"])
    becomes(server, job, "Running")
    server.kill()
    server.start()
    await_cluster(server)
    _, found = server.call("GET", f"/api/v1/jobs/{job}")
    assert (found["state"], found["attempt"]) == ("Running", 1)
    log = ""
    for _ in polls(60):
        log = server.run("logs", job, check=True).stdout
        if "line 50\n" in log:
            break
    server.run("kill", job, check=True)
    assert server.wait(job)["state"] == "Cancelled"
    lines = [line.split("| ")[-1] for line in server.run("logs", job, check=True).stdout.splitlines()]
    numbers = [int(line.rsplit(" ", 1)[1]) for line in lines if "line " in line]
    assert numbers == list(range(len(numbers))), "nothing is missing and nothing is there twice"
    assert len(numbers) > 50


def test_top_shows_what_nodes_and_tasks_use(server: MusterServer) -> None:
    """This cluster has no metrics-server; its kubelets answer, as the account may do everything."""
    busy = ["python3", "-c", "held = bytearray(64 << 20)\nwhile True: sum(range(100000))"]
    job = submitted(server, busy, resources={"cpu": "50m", "memory": "256Mi"})
    name = becomes(server, job, "Running")["name"]
    tasks: list[Any] = []
    for _ in polls(120, every_s=0.5):
        tasks = [one for one in server.json("top")["tasks"] if one["job"] == name]
        tasks = [one for one in tasks if (one["cpuPercent"] or 0) > 5 and one["rssBytes"] > 64 << 20]
        if tasks:
            break
    assert tasks, server.json("top")
    (node,) = {one["node"] for one in tasks}
    described = server.run("describe", f"node/{CLUSTER}/{node}", check=True).stdout
    assert "CPU used" in described
    nodes = {(one["cluster"], one["name"]): one for one in server.json("top")["nodes"]}
    usage = nodes[CLUSTER, node]["usage"]
    assert usage["memoryTotalBytes"] > usage["memoryUsedBytes"] > 0
    assert usage["diskTotalBytes"] > 0
    _, history = server.call("GET", f"/api/v1/nodes/{node}/usage?cluster={CLUSTER}")
    assert history["items"]
    server.run("kill", job, check=True)
