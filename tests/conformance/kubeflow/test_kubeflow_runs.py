"""Jobs of Kubeflow and of Kubernetes on a real server: their tasks meet, and the job ends as the original would."""

from pathlib import Path

import yaml

from tests.conformance.kubeflow.test_kubeflow_tasks import job, replicas
from tests.conformance.running_jobs import ran
from tests.parts.server import MusterServer

MEET = """
import os, socket, time
address = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
if os.environ["RANK"] == "0":
    server = socket.create_server(address)
    found = sorted(server.accept()[0].recv(100).decode() for _ in range(int(os.environ["WORLD_SIZE"]) - 1))
    print("met", *found, flush=True)
else:
    for _ in range(300):
        try:
            socket.create_connection(address, 10).sendall(os.environ["RANK"].encode())
            break
        except OSError:
            time.sleep(0.1)
    time.sleep(600)
"""
FOREVER = ["sh", "-c", "while :; do sleep 1; done"]


def named(text: str, name: str) -> str:
    document = yaml.safe_load(text)
    return yaml.safe_dump({**document, "metadata": {"name": name}}, sort_keys=False)


def test_ranks_of_a_pytorch_job_meet_at_the_master_and_the_job_ends_with_it(
    muster_server: MusterServer, tmp_path: Path
) -> None:
    command = ["python3", "-c", MEET]
    text = job("PyTorchJob", {"Worker": replicas(2, command), "Master": replicas(1, command)})
    done = ran(muster_server, named(text, "torch-conformance"), tmp_path)

    assert (done.state, done.lines("met")) == ("Succeeded", ["1 2"])


def test_tf_job_ends_with_its_chief_while_servers_run_on(muster_server: MusterServer, tmp_path: Path) -> None:
    chief = replicas(1, ["sh", "-c", 'echo "config $TF_CONFIG"'])
    text = job("TFJob", {"PS": replicas(1, FOREVER), "Worker": replicas(1, FOREVER), "Chief": chief})
    done = ran(muster_server, named(text, "tf-conformance"), tmp_path)

    assert done.state == "Succeeded"
    assert '"task": {"type": "chief", "index": 0}' in done.lines("config")[0]


def test_jax_processes_know_their_number(muster_server: MusterServer, tmp_path: Path) -> None:
    command = ["sh", "-c", 'echo "process $PROCESS_ID of $NUM_PROCESSES"; test "$COORDINATOR_PORT" -gt 0']
    done = ran(muster_server, named(job("JAXJob", {"Worker": replicas(2, command)}), "jax-conformance"), tmp_path)

    assert (done.state, done.lines("process")) == ("Succeeded", ["0 of 2", "1 of 2"])


def test_failed_worker_fails_a_pytorch_job(muster_server: MusterServer, tmp_path: Path) -> None:
    text = job("PyTorchJob", {"Master": replicas(1, FOREVER), "Worker": replicas(1, ["sh", "-c", "exit 4"])})

    assert ran(muster_server, named(text, "torch-conformance-fails"), tmp_path).state == "Failed"


def test_indexed_job_of_kubernetes_runs_each_index_once(muster_server: MusterServer, tmp_path: Path) -> None:
    text = """\
apiVersion: batch/v1
kind: Job
metadata: {name: indexed-conformance}
spec:
  parallelism: 2
  completions: 2
  completionMode: Indexed
  template:
    spec:
      restartPolicy: Never
      containers: [{name: main, image: i, command: [sh, -c, "echo index $(JOB_COMPLETION_INDEX)"]}]
"""
    done = ran(muster_server, text, tmp_path)

    assert (done.state, done.lines("index")) == ("Succeeded", ["0", "1"])
