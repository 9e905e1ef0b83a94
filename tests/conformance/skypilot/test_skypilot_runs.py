"""SkyPilot tasks on a real server."""

from pathlib import Path

from tests.conformance.running import refused, run_file, written
from tests.parts.server import MusterServer

ONE_MACHINE = ("--set", "where.spread=pack")


def test_setup_and_run_find_the_workdir_and_each_node_its_rank(muster_server: MusterServer, tmp_path: Path) -> None:
    written(tmp_path, "code/hello.txt", "hello\n")
    task = [
        "name: sky-nodes",
        "num_nodes: 2",
        "workdir: code",
        "envs: {WHO: world}",
        "resources: {cpus: 0.25+}",
        "setup: cp hello.txt prepared.txt",
        "run: |",
        '  echo "$(cat prepared.txt) $WHO $SKYPILOT_NODE_RANK/$SKYPILOT_NUM_NODES $SKYPILOT_NUM_GPUS_PER_NODE"',
        '  false; test "$(echo "$SKYPILOT_NODE_IPS" | wc -l)" = 2',
    ]

    ran = run_file(muster_server, written(tmp_path, "task.yaml", task), *ONE_MACHINE)

    assert ran.state == "Succeeded", ran.log
    assert ran.of("worker-0")[-1] == "hello world 0/2 0"
    assert ran.of("worker-1")[-1] == "hello world 1/2 0", "a line that fails does not end the script, as in SkyPilot"


def test_stream_of_tasks_is_a_pipeline_in_which_each_waits_for_the_one_before(
    muster_server: MusterServer, tmp_path: Path
) -> None:
    file = written(tmp_path, "line.yaml", "name: line\n---\nname: line-a\nrun: exit 3\n---\nrun: echo never\n")

    ran = muster_server.run("submit", str(file), "--wait")

    assert ran.returncode != 0
    jobs = {job["name"]: job for job in muster_server.json("get", "jobs")["items"]}
    assert jobs["line-a"]["state"] == "Failed"
    assert jobs["line-1"]["state"] == "Failed", "it needs the first one"
    assert muster_server.run("logs", jobs["line-1"]["id"]).stdout == ""


def test_secret_in_the_file_is_never_used_nor_repeated(muster_server: MusterServer, tmp_path: Path) -> None:
    muster_server.run("secret", "set", "SKY_TOKEN", input="from-muster", check=True)
    task = ["name: sky-secret", "secrets: {SKY_TOKEN: from-the-file}", "run: test $SKY_TOKEN = from-muster"]

    ran = run_file(muster_server, written(tmp_path, "task.yaml", task))

    assert ran.state == "Succeeded", ran.log
    assert "line 2: secrets.SKY_TOKEN: the value in the file is not used" in ran.said
    shown = muster_server.run("describe", ran.id, "-o", "json", check=True).stdout
    assert "from-the-file" not in ran.said + shown


def test_service_is_refused_by_its_name(muster_server: MusterServer, tmp_path: Path) -> None:
    file = written(tmp_path, "service.yaml", "service: {readiness_probe: /}\nrun: python -m http.server\n")

    assert "this looks like a SkyPilot service" in refused(muster_server, file)
