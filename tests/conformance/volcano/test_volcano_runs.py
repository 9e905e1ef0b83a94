"""Volcano jobs on a real server: their tasks find each other, and the policies decide."""

from pathlib import Path

from tests.conformance.running_jobs import ran
from tests.conformance.volcano.test_volcano_tasks import COMPLETE, job, task
from tests.parts.server import MusterServer

FOREVER = ["sh", "-c", "while :; do sleep 1; done"]


def test_job_is_complete_when_its_workers_are(muster_server: MusterServer, tmp_path: Path) -> None:
    says = ["sh", "-c", 'echo "index $VC_TASK_INDEX of $VC_WORKER_NUM"; test -n "$VC_SERVER_HOSTS"']
    text = job(task("server", 1, FOREVER), task("worker", 2, says, policies=[COMPLETE]), plugins={"env": [], "svc": []})
    done = ran(muster_server, text, tmp_path, "--name", "volcano-conformance")

    assert (done.state, done.lines("index")) == ("Succeeded", ["0 of 2", "1 of 2"])


def test_failed_pod_aborts_the_job_as_its_policy_says(muster_server: MusterServer, tmp_path: Path) -> None:
    policies = [{"event": "PodFailed", "action": "AbortJob"}]
    text = job(task("a", 1, FOREVER), task("b", 1, ["sh", "-c", "exit 2"]), policies=policies)

    assert ran(muster_server, text, tmp_path, "--name", "volcano-conformance-aborts").state == "Failed"
