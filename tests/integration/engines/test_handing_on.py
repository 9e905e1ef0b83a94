"""Two real servers, of which one hands jobs on to the other: what passes through, and what survives which failure."""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.parts.answer_cutter import AnswerCutter
from tests.parts.server import MusterServer, end_all_jobs, polls

DEADLINE_S = 120.0


class Pair:
    """`front` has the cluster `far`, which is the cluster `local` of the server `far`."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.front, self.far = MusterServer(base / "front"), MusterServer(base / "far")
        self.token = base / "token"

    def connect(self, server: str | None = None, cluster: str = "local", *, name: str = "far") -> None:
        """Writes the cluster file. Muster's files take effect without a restart."""
        if not self.token.exists():
            write_token(self.token, self.new_token("chain"))
        text = f"backend: muster\nserver: {server or self.far.url}\ntokenFile: {self.token}\ncluster: {cluster}\n"
        folder = self.front.home / "clusters.d"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f".{name}.new").write_text(text)
        (folder / f".{name}.new").replace(folder / f"{name}.yaml")

    def new_token(self, name: str) -> str:
        status, made = self.far.call("POST", "/api/v1/tokens", {"name": name, "scope": "submit"})
        assert status == 201, made
        return str(made["secret"])

    def ready(self) -> None:
        until(lambda: cluster_of(self.front, "far")["state"] == "Ready")

    def submit(self, command: str, **more: Any) -> str:
        return str(self.front.submit({"name": "chained", "cluster": "far", "command": command, **more})["id"])

    def there(self) -> list[Any]:
        """All jobs of the other server."""
        return list(self.far.call("GET", "/api/v1/jobs?limit=1000")[1]["items"])


def write_token(path: Path, token: str) -> None:
    path.touch(mode=0o600)
    path.write_text(token)


@contextmanager
def servers(base: Path) -> Iterator[Pair]:
    pair = Pair(base)
    try:
        pair.far.start()
        pair.front.start()
        yield pair
    finally:
        for server in (pair.front, pair.far):
            if server.is_running:
                os.kill(server.pid, signal.SIGCONT)
            else:
                server.start()
            end_all_jobs(server)
            server.stop()


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """For tests that leave both servers running."""
    with servers(tmp_path_factory.mktemp("pair")) as pair:
        pair.connect()
        pair.ready()
        yield pair


@pytest.fixture
def own_pair(tmp_path: Path) -> Iterator[Pair]:
    """For one test alone, which breaks something."""
    with servers(tmp_path) as pair:
        pair.connect()
        pair.ready()
        yield pair


def cluster_of(server: MusterServer, name: str) -> Any:
    _, found = server.call("GET", "/api/v1/clusters")
    return next((one for one in found["items"] if one["name"] == name), {"state": "", "notes": []})


def until(condition: Callable[[], object]) -> None:
    for _ in polls(DEADLINE_S):
        if condition():
            return
    raise AssertionError("it has not become true")


def notes_of(server: MusterServer, name: str) -> str:
    return " ".join(cluster_of(server, name)["notes"])


def waits(marks: Path, go: Path) -> str:
    """A command that says that it was started, and goes on to its end when it is told to."""
    return f"echo begun >>{marks}; while [ ! -e {go} ]; do sleep 0.05; done; echo done"


def test_state_log_outputs_package_and_secret_pass_through(pair: Pair, tmp_path: Path) -> None:
    (tmp_path / "code").mkdir()
    (tmp_path / "code/greeting.txt").write_text("from the package\n")
    (tmp_path / "key").write_text("hunter2-of-the-chain")
    pair.front.run("secret", "set", "chain-key", "--from-file", str(tmp_path / "key"), check=True)
    (tmp_path / "job.yaml").write_text(
        "name: whole\ncluster: far\npackage: code\noutputs: [model/]\nsecrets: [{name: chain-key, env: KEY}]\n"
        'command: cat greeting.txt; echo "$KEY $MUSTER_JOB_ID"; mkdir model; echo 42 >model/weights; exit 3\n'
    )
    done = pair.front.run("submit", str(tmp_path / "job.yaml"), "-o", "json", cwd=tmp_path, check=True)
    assert "whole" in done.stdout
    job = pair.front.wait("whole")
    assert (job["state"], job["cluster"]) == ("Failed", "far")
    _, tasks = pair.front.call("GET", f"/api/v1/jobs/{job['id']}/tasks")
    (task,) = tasks["items"]
    assert (task["state"], task["exitCode"]) == ("Failed", 3)
    assert task["node"] in {node["name"] for node in pair.far.call("GET", "/api/v1/nodes")[1]["items"]}
    log = pair.front.run("logs", "whole", check=True).stdout
    assert "from the package" in log
    assert "hunter2" not in log
    assert job["id"] in log
    until(lambda: pair.front.call("GET", f"/api/v1/jobs/{job['id']}/outputs")[1]["complete"])
    assert pair.front.call("GET", f"/api/v1/jobs/{job['id']}/outputs/model/weights")[1] == 42
    (there,) = [one for one in pair.there() if one["name"] == "whole"]
    until(lambda: not pair.far.call("GET", f"/api/v1/jobs/{there['id']}")[1]["labels"])
    assert "hunter2" not in pair.far.run("get", "job", there["id"], "-o", "json").stdout


def test_a_package_that_is_there_is_not_sent_again(pair: Pair, tmp_path: Path) -> None:
    (tmp_path / "code").mkdir()
    (tmp_path / "code/data").write_text("the same for both\n" * 1000)
    for name in ("first", "second"):
        (tmp_path / "job.yaml").write_text(f"name: {name}\ncluster: far\npackage: code\ncommand: wc -l data\n")
        pair.front.run("submit", str(tmp_path / "job.yaml"), cwd=tmp_path, check=True)
        assert pair.front.wait(name)["state"] == "Succeeded"
    text = (pair.far.home / "stderr.log").read_text() + str(pair.far.call("GET", "/metrics")[1])
    puts = [line for line in text.splitlines() if "PUT" in line and "packages" in line and "_count" in line]
    assert all(float(line.rsplit(" ", 1)[1]) <= 1 for line in puts), puts


def test_the_log_is_followed_while_the_task_runs(pair: Pair, tmp_path: Path) -> None:
    job = pair.submit(f"echo first; while [ ! -e {tmp_path}/go ]; do sleep 0.05; done; echo last")
    pair.front.wait_for_state(job, "Running")
    following = pair.front.popen("logs", "--follow", job)
    assert following.stdout is not None
    assert "first" in following.stdout.readline()
    (tmp_path / "go").touch()
    rest, _ = following.communicate(timeout=DEADLINE_S)
    assert "last" in rest


def test_explain_has_the_words_of_the_other_server(pair: Pair, tmp_path: Path) -> None:
    _, nodes = pair.far.call("GET", "/api/v1/nodes?cluster=local")
    filler = pair.far.submit(
        {"name": "filler", "command": "sleep infinity", "resources": {"cpu": nodes["items"][0]["cpu"]["total"]}}
    )
    pair.far.wait_for_state(filler["id"], "Running")
    job = pair.submit("true")
    until(lambda: "filler" in pair.front.run("explain", job).stdout or _far_words(pair, job))
    pair.far.call("POST", f"/api/v1/jobs/{filler['id']}/kill", {"grace": "0s"})
    assert pair.front.wait(job)["state"] == "Succeeded"


def _far_words(pair: Pair, job: str) -> bool:
    there = [one for one in pair.there() if one["name"] == "chained" and one["state"] == "Queued"]
    return bool(there) and bool(there[0]["reason"]) and there[0]["reason"] in pair.front.run("explain", job).stdout


def test_a_kill_here_ends_the_job_there(pair: Pair) -> None:
    job = pair.submit("sleep infinity")
    pair.front.wait_for_state(job, "Running")
    pair.front.run("kill", job, check=True)
    assert pair.front.wait(job)["state"] == "Cancelled"
    until(lambda: all(one["state"] in ("Succeeded", "Failed", "Cancelled") for one in pair.there()))


@pytest.mark.parametrize("is_deleted", [False, True])
def test_a_job_that_somebody_ends_there_is_cancelled_here(pair: Pair, is_deleted: bool) -> None:
    job = pair.submit("sleep infinity")
    pair.front.wait_for_state(job, "Running")
    (there,) = [one for one in pair.there() if one["state"] == "Running"]
    if is_deleted:
        os.kill(pair.front.pid, signal.SIGSTOP)
    try:
        pair.far.call("POST", f"/api/v1/jobs/{there['id']}/kill", {"grace": "0s"})
        if is_deleted:
            pair.far.wait(there["id"])
            assert pair.far.call("DELETE", f"/api/v1/jobs/{there['id']}")[0] == 204
    finally:
        os.kill(pair.front.pid, signal.SIGCONT)
    ended = pair.front.wait(job)
    assert ended["state"] == "Cancelled"
    assert pair.far.url in ended["reason"]
    assert ended["reason"].rstrip(".") in pair.front.run("explain", job, check=True).stdout


def metrics_of(server: MusterServer, job: str) -> dict[str, Any]:
    _, found = server.call("GET", f"/api/v1/jobs/{job}/metrics?points=10000")
    return {one["name"]: one for one in found["metrics"]}


def far_job(pair: Pair, name: str) -> str:
    (there,) = [one for one in pair.there() if one["name"] == name]
    return str(there["id"])


def test_metrics_come_while_it_runs_and_are_those_of_the_other_server_at_its_end(pair: Pair, tmp_path: Path) -> None:
    lines = (
        "import muster, os, time\n"
        "for n in range(5): muster.log(step=n, loss=1 / (n + 1))\n"
        f"while not os.path.exists({str(tmp_path / 'go')!r}): time.sleep(0.05)\n"
        "muster.log(step=2, late=2.0)\n"
        "for n in range(5, 300): muster.log(step=n, loss=-n if n == 250 else float('nan') if n == 7 else 1, acc=n)\n"
        "print('epoch 3 score=0.75')"
    )
    pattern = r"epoch (?P<step>\d+) score=(?P<score>\S+)"
    spec = {"name": "measuring", "cluster": "far", "command": ["python3", "-c", lines], "metrics": [pattern]}
    job = pair.front.submit(spec)["id"]
    until(lambda: metrics_of(pair.front, job).get("loss", {"count": 0})["count"] == 5)
    (tmp_path / "go").touch()
    assert pair.front.wait(job)["state"] == "Succeeded"
    found = metrics_of(pair.front, job)
    assert found == metrics_of(pair.far, far_job(pair, "measuring"))
    assert [point["step"] for point in found["loss"]["points"]] == list(range(300))
    assert (found["loss"]["lowest"], found["loss"]["points"][7]["value"]) == ({"step": 250, "value": -250.0}, "NaN")
    assert (found["score"]["last"]["value"], found["late"]["last"]["step"]) == (0.75, 2)


def test_what_its_tasks_used_passes_through(pair: Pair) -> None:
    job = pair.submit("python3 -c 'bytearray(80 << 20)'", name="using", replicas=2)
    assert pair.front.wait(job)["state"] == "Succeeded"
    here, there = (
        server.call("GET", f"/api/v1/experiments?job={ref}")[1]["items"][0]
        for server, ref in ((pair.front, job), (pair.far, far_job(pair, "using")))
    )
    assert here["peakMemoryBytes"] == there["peakMemoryBytes"] > 80 << 20
    _, used = pair.front.call("GET", f"/api/v1/jobs/{job}/usage")
    assert [task["used"]["peakMemoryBytes"] > 80 << 20 for task in used["attempts"][0]["tasks"]] == [True, True]


def test_scalars_of_event_files_come_once_with_the_outputs(pair: Pair) -> None:
    lines = (
        "from tensorboardX import SummaryWriter\n"
        "with SummaryWriter('runs') as writer:\n"
        "    for step in range(100): writer.add_scalar('loss', 1 / (step + 1), step)\n"
    )
    command = [sys.executable, "-c", lines]
    job = pair.front.submit({"name": "events", "cluster": "far", "command": command, "outputs": ["runs/"]})["id"]
    assert pair.front.wait(job)["state"] == "Succeeded"
    until(lambda: pair.front.call("GET", f"/api/v1/jobs/{job}/outputs")[1]["complete"])
    found = metrics_of(pair.front, job)
    assert found["loss"]["count"] == 100
    assert found == metrics_of(pair.far, far_job(pair, "events"))


def test_a_sweep_stops_members_early_that_do_worse_there(pair: Pair, tmp_path: Path) -> None:
    lines = (
        "import muster, sys, time, os\n"
        "for n in range(5): muster.log(step=n, loss=float(sys.argv[1]))\n"
        f"while not os.path.exists({str(tmp_path / 'go')!r}): time.sleep(0.05)\n"
    )
    spec = {
        "name": "early",
        "cluster": "far",
        "command": ["python3", "-c", lines, "${params.loss}"],
        "resources": {"cpu": "100m"},
        "sweep": {
            "list": [{"loss": loss} for loss in (1, 2, 30)],
            "metric": "loss",
            "goal": "min",
            "stopEarly": {"by": "median", "afterStep": 2, "members": 2},
        },
    }
    status, made = pair.front.call("POST", "/api/v1/sweeps", {"spec": spec})
    assert status == 201, made
    until(lambda: pair.front.call("GET", "/api/v1/jobs/early-3")[1]["state"] == "Cancelled")
    (tmp_path / "go").touch()
    assert pair.front.wait("early-1")["state"] == "Succeeded"
    until(lambda: all(one["state"] in ("Succeeded", "Failed", "Cancelled") for one in pair.there()))


def test_logs_of_a_server_that_is_away_are_not_told_as_empty(own_pair: Pair) -> None:
    own_pair.connect()
    own_pair.ready()
    job = own_pair.submit("echo begun; sleep infinity")
    until(lambda: "begun" in own_pair.front.run("logs", job).stdout)
    own_pair.far.kill()
    said = own_pair.front.run("logs", job, "-n", "2")
    assert said.returncode == 1
    assert "cannot be read now" in said.stderr
    own_pair.far.start()
    until(lambda: "begun" in own_pair.front.run("logs", job).stdout)
    own_pair.front.run("kill", job, check=True)


def test_exec_runs_in_the_task_there(pair: Pair) -> None:
    job = pair.submit("sleep infinity")
    pair.front.wait_for_state(job, "Running")
    assert pair.front.run("exec", job, "--", "sh", "-c", "echo $MUSTER_JOB_ID", check=True).stdout.strip() == job
    pair.front.run("kill", job, check=True)


def test_a_front_server_that_is_killed_adopts_its_job(own_pair: Pair, tmp_path: Path) -> None:
    marks, go = tmp_path / "marks", tmp_path / "go"
    job = own_pair.submit(waits(marks, go))
    own_pair.front.wait_for_state(job, "Running")
    own_pair.front.kill()
    go.touch()
    own_pair.front.start()
    assert own_pair.front.wait(job)["state"] == "Succeeded"
    assert marks.read_text() == "begun\n"
    assert len(own_pair.there()) == 1


def test_another_server_that_is_killed_and_paused_loses_nothing(own_pair: Pair, tmp_path: Path) -> None:
    marks, go = tmp_path / "marks", tmp_path / "go"
    job = own_pair.submit(waits(marks, go))
    own_pair.front.wait_for_state(job, "Running")
    own_pair.far.kill()
    until(lambda: cluster_of(own_pair.front, "far")["state"] == "Unreachable")
    assert "does not answer" in notes_of(own_pair.front, "far")
    own_pair.far.start()
    own_pair.ready()
    os.kill(own_pair.far.pid, signal.SIGSTOP)
    until(lambda: cluster_of(own_pair.front, "far")["state"] == "Unreachable")
    go.touch()
    os.kill(own_pair.far.pid, signal.SIGCONT)
    assert own_pair.front.wait(job)["state"] == "Succeeded"
    assert marks.read_text() == "begun\n"
    assert "done" in own_pair.front.run("logs", job, check=True).stdout


def test_a_submission_whose_answer_is_cut_off_runs_once(own_pair: Pair, tmp_path: Path) -> None:
    cutter = AnswerCutter("127.0.0.1", own_pair.far.port)
    try:
        own_pair.connect(cutter.url)
        until(lambda: cluster_of(own_pair.front, "far")["state"] == "Ready")
        cutter.arm(b"POST /api/v1/jobs:handed-on")
        ids: list[str] = []
        until(lambda: _submitted_through(own_pair, cutter, tmp_path, ids))  # the first may go the old way
        assert sorted((tmp_path / "marks").read_text().split()) == sorted(ids)
        assert len(own_pair.there()) == len(ids)
    finally:
        cutter.close()


def _submitted_through(pair: Pair, cutter: AnswerCutter, tmp_path: Path, ids: list[str]) -> bool:
    ids.append(pair.submit(f"echo $MUSTER_JOB_ID >>{tmp_path}/marks"))
    assert pair.front.wait(ids[-1])["state"] == "Succeeded"
    return cutter.cuts == 1


def test_a_token_that_was_revoked_is_said_and_a_new_one_counts_at_once(own_pair: Pair, tmp_path: Path) -> None:
    marks, go = tmp_path / "marks", tmp_path / "go"
    job = own_pair.submit(waits(marks, go))
    own_pair.front.wait_for_state(job, "Running")
    _, tokens = own_pair.far.call("GET", "/api/v1/tokens")
    (mine,) = [one for one in tokens["items"] if one["name"] == "chain"]
    assert own_pair.far.call("DELETE", f"/api/v1/tokens/{mine['id']}")[0] == 204
    until(lambda: "does not accept the token" in notes_of(own_pair.front, "far"))
    secret = own_pair.token.read_text()
    assert secret not in notes_of(own_pair.front, "far")
    own_pair.token.write_text(own_pair.new_token("newer"))
    own_pair.ready()
    go.touch()
    assert own_pair.front.wait(job)["state"] == "Succeeded"
    assert marks.read_text() == "begun\n"
    assert secret not in (own_pair.front.home / "stderr.log").read_text()


def test_a_server_that_is_away_at_the_start_is_found_later(own_pair: Pair) -> None:
    own_pair.front.stop()
    own_pair.far.kill()
    own_pair.front.start()
    job = own_pair.submit("true")
    until(lambda: "does not answer" in pair_reason(own_pair, job))
    own_pair.far.start()
    assert own_pair.front.wait(job)["state"] == "Succeeded"


def pair_reason(pair: Pair, job: str) -> str:
    return pair.front.run("explain", job).stdout


def test_the_check_says_what_is_wrong_with_token_and_cluster(pair: Pair, tmp_path: Path) -> None:
    folder = tmp_path / "clusters.d"
    folder.mkdir()
    wrong = tmp_path / "wrong"
    write_token(wrong, "msr_not-a-token\n")
    shown = f"backend: muster\nserver: {pair.far.url}\n"
    (folder / "one.yaml").write_text(f"{shown}tokenFile: {wrong}\ncluster: local\n")
    (folder / "two.yaml").write_text(f"{shown}tokenFile: {pair.token}\ncluster: locall\n")
    (folder / "three.yaml").write_text(f"{shown}tokenFile: {pair.token}\ncluster: local\n")
    said = pair.front.run("cluster", "check", "--connect", "--folder", str(folder))
    text = said.stdout + said.stderr
    assert said.returncode != 0
    assert "does not accept the token" in text
    assert "has no cluster 'locall': did you mean local?" in text
    assert "takes its jobs" in text
    assert "msr_not-a-token" not in text
    assert pair.token.read_text() not in text


def test_a_server_that_hands_on_to_itself_is_refused(own_pair: Pair) -> None:
    write_token(own_pair.token, own_pair.front.token)
    own_pair.connect(own_pair.front.url, name="mirror")
    until(lambda: "is this server itself" in notes_of(own_pair.front, "mirror"))
    status, problem = own_pair.front.call(
        "POST", "/api/v1/jobs", {"spec": {"name": "round", "cluster": "mirror", "command": "true"}}
    )
    assert status == 422
    assert "circles" in str(problem)


def test_two_servers_that_hand_on_to_each_other_are_refused(own_pair: Pair) -> None:
    token = own_pair.base / "back"
    write_token(token, own_pair.front.token)
    folder = own_pair.far.home / "clusters.d"
    folder.mkdir(exist_ok=True)
    (folder / "back.yaml").write_text(
        f"backend: muster\nserver: {own_pair.front.url}\ntokenFile: {token}\ncluster: local\n"
    )
    until(lambda: "circles" in notes_of(own_pair.far, "back"))
    status, problem = own_pair.far.call(
        "POST", "/api/v1/jobs", {"spec": {"name": "round", "cluster": "back", "command": "true"}}
    )
    assert status == 422
    assert "circles" in str(problem)
