"""Tasks that behave as badly as a program can. Each has a sane end, and nothing of it is left running."""

import sys
from pathlib import Path
from typing import Any

import pytest

from muster.agent.tasks.cgroups import find_groups
from tests.parts.leftovers import resident_bytes, wait_until_nothing_runs
from tests.parts.server import MusterServer, polls

GIGABYTE = 1 << 30


def run(server: MusterServer, name: str, command: str | list[str], **more: Any) -> Any:
    """The ended job, with its task and what `explain` says; nothing of it may still run."""
    job = server.submit({"name": name, "command": command, **more})
    ended = server.wait(job["id"])
    wait_until_nothing_runs(server.home)
    _, tasks = server.call("GET", f"/api/v1/jobs/{job['id']}/tasks")
    _, why = server.call("GET", f"/api/v1/jobs/{job['id']}/explain")
    return ended | {"task": tasks["items"][0], "explain": why}


def raw_log(server: MusterServer, job: Any) -> str:
    _, text = server.call("GET", f"/api/v1/jobs/{job['id']}/logs/raw?task=worker-0")
    return text or ""


@pytest.mark.parametrize(
    "escape",
    [
        "setsid sleep 600 >/dev/null 2>&1 & echo away",
        "(setsid sh -c 'sleep 600 & sleep 600' >/dev/null 2>&1 &) ; echo away",
        "nohup sh -c 'trap \"\" TERM HUP; sleep 600' >/dev/null 2>&1 & echo away",
    ],
    ids=["setsid", "double-fork", "nohup-ignoring-term"],
)
def test_processes_that_fork_away_end_with_their_task(shared_server: MusterServer, escape: str) -> None:
    job = run(shared_server, "forks-away", escape)
    assert job["state"] == "Succeeded"
    assert raw_log(shared_server, job) == "away\n"


def test_task_that_ignores_sigterm_is_killed_after_its_grace(shared_server: MusterServer, tmp_path: Path) -> None:
    command = f"trap '' TERM; touch {tmp_path}/ready; while :; do sleep 0.1; done"
    job = shared_server.submit({"name": "ignores-term", "command": command, "grace": "1s"})["id"]
    for _ in polls(20):
        if (tmp_path / "ready").exists():
            break
    shared_server.call("POST", f"/api/v1/jobs/{job}/kill", {})
    assert shared_server.wait(job, 15)["state"] == "Cancelled"
    wait_until_nothing_runs(shared_server.home)
    _, tasks = shared_server.call("GET", f"/api/v1/jobs/{job}/tasks")
    assert [(task["state"], task["signal"]) for task in tasks["items"]] == [("Stopped", 9)]


@pytest.mark.slow
def test_a_gigabyte_of_output_is_kept_whole_and_costs_the_server_no_memory(shared_server: MusterServer) -> None:
    before = resident_bytes(shared_server.pid)
    job = run(shared_server, "gigabyte", f"yes 0123456789abcde | head -c {GIGABYTE}")
    assert job["state"] == "Succeeded"
    (log,) = (shared_server.home / "logs" / job["id"]).glob("*.log")
    assert log.stat().st_size == GIGABYTE
    tail = shared_server.run("logs", job["id"], "-n", "3", check=True).stdout
    assert tail.count("0123456789abcde") == 3
    assert resident_bytes(shared_server.pid) - before < 64 << 20
    assert shared_server.call("DELETE", f"/api/v1/jobs/{job['id']}")[0] == 204


def test_binary_output_is_kept_byte_for_byte_and_shown_as_text(shared_server: MusterServer) -> None:
    job = run(shared_server, "binary", [sys.executable, "-c", "import os; os.write(1, bytes(range(256)) * 64)"])
    assert job["state"] == "Succeeded"
    (log,) = (shared_server.home / "logs" / job["id"]).glob("*.log")
    assert log.read_bytes() == bytes(range(256)) * 64
    assert shared_server.run("logs", job["id"]).returncode == 0


def test_fifty_tasks_that_exit_before_they_are_observed_are_each_known_by_their_code(
    shared_server: MusterServer,
) -> None:
    role = {"replicas": 50, "command": "exit $((MUSTER_RANK % 3))", "resources": {"cpu": "10m"}, "minFailed": -1}
    job = shared_server.submit({"name": "at-once", "roles": {"worker": role}})["id"]
    shared_server.wait(job)
    wait_until_nothing_runs(shared_server.home)
    _, tasks = shared_server.call("GET", f"/api/v1/jobs/{job}/tasks")
    assert [task["exitCode"] for task in tasks["items"]] == [rank % 3 for rank in range(50)]
    assert {task["state"] for task in tasks["items"]} == {"Succeeded", "Failed"}


def test_task_that_closes_its_output_ends_well(shared_server: MusterServer) -> None:
    job = run(shared_server, "closes", "echo first; exec >&- 2>&-; sleep 0.2; exit 0")
    assert job["state"] == "Succeeded"
    assert raw_log(shared_server, job) == "first\n"


def test_task_that_kills_its_process_group_was_killed_and_is_no_fault_of_the_platform(
    shared_server: MusterServer,
) -> None:
    job = run(shared_server, "kills-itself", "echo here; kill -9 0; sleep 600")
    assert job["state"] == "Failed"
    assert (job["attempt"], job["task"]["state"], job["task"]["signal"]) == (1, "Failed", 9)
    assert job["explain"]["fault"]["kind"] != "platform"
    assert raw_log(shared_server, job) == "here\n"


def test_task_that_kills_its_parent_harms_neither_itself_nor_others(
    shared_server: MusterServer, tmp_path: Path
) -> None:
    wait_for_go = f"while ! [ -e {tmp_path}/go ]; do sleep 0.05; done; exit 5"
    bystander = shared_server.submit({"name": "bystander", "command": wait_for_go})["id"]
    shared_server.wait_for_state(bystander, "Running")
    killer = shared_server.submit({"name": "kills-parent", "command": "kill -9 $PPID; sleep 0.5; exit 3"})["id"]
    assert shared_server.wait(killer)["attempt"] == 1
    (tmp_path / "go").touch()
    assert shared_server.wait(bystander)["attempt"] == 1
    wait_until_nothing_runs(shared_server.home)
    for job, code in ((killer, 3), (bystander, 5)):
        _, tasks = shared_server.call("GET", f"/api/v1/jobs/{job}/tasks")
        assert [(task["state"], task["exitCode"]) for task in tasks["items"]] == [("Failed", code)]


def test_log_replaced_by_a_link_shows_nothing_of_what_it_points_to(shared_server: MusterServer) -> None:
    job = run(shared_server, "links-log", 'rm "$MUSTER_TASK_DIR/log"; ln -s /etc/passwd "$MUSTER_TASK_DIR/log"; exit 3')
    assert job["state"] == "Failed"
    assert job["task"]["exitCode"] == 3
    assert "root:" not in raw_log(shared_server, job)
    assert "root:" not in shared_server.run("logs", job["id"]).stdout
    assert "root:" not in str(job["explain"])


def test_task_that_deletes_its_own_folder_keeps_its_exit_code(shared_server: MusterServer) -> None:
    job = run(shared_server, "deletes-folder", 'cd /; rm -rf "$MUSTER_TASK_DIR"; exit 0')
    assert job["state"] == "Succeeded"
    assert raw_log(shared_server, job) == ""


def test_task_in_a_deleted_working_directory_ends_well(shared_server: MusterServer) -> None:
    job = run(shared_server, "deleted-cwd", 'rm -rf "$PWD"; echo still here')
    assert job["state"] == "Succeeded"
    assert raw_log(shared_server, job) == "still here\n"


def test_task_over_its_memory_limit_has_failed_by_that_limit(shared_server: MusterServer) -> None:
    groups = find_groups()
    if groups.memory is None:
        pytest.skip(f"no memory limits here: {groups.why}")
    eat = [sys.executable, "-c", "x = []\nwhile True: x.append(bytearray(1 << 20))"]
    job = run(shared_server, "eats-memory", eat, resources={"memory": "64Mi", "cpu": "100m"})
    assert job["state"] == "Failed"
    assert (job["explain"]["fault"]["kind"], job["explain"]["fault"]["code"]) == ("limit", "memory")


def test_job_over_its_time_limit_has_failed_by_that_limit(shared_server: MusterServer) -> None:
    job = run(shared_server, "too-long", "sleep 600", timeLimit="1s")
    assert job["state"] == "Failed"
    assert (job["explain"]["fault"]["kind"], job["explain"]["fault"]["code"]) == ("limit", "time-limit")
