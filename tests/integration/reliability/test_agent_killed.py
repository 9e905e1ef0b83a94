"""The agent is killed while tasks run or start: they go on, are found again and end well."""

import contextlib
import os
import signal
import threading
from pathlib import Path

from tests.parts.leftovers import agent_processes, task_processes, wait_until_all_is_free, wait_until_nothing_runs
from tests.parts.server import PATIENCE, MusterServer, polls


def kill_agent(server: MusterServer) -> int:
    (pid,) = agent_processes(server.home)
    os.kill(pid, signal.SIGKILL)
    return pid


def wait_for_another_agent(server: MusterServer, than: int) -> None:
    for _ in polls(30):
        if (found := agent_processes(server.home)) and than not in found:
            return
    raise AssertionError("no agent was started in place of the killed one")


def wait_until_ready(server: MusterServer) -> None:
    for _ in polls(30):
        if server.call("GET", "/readyz")[0] == 200:
            return
    raise AssertionError("the node is not ready")


def test_running_tasks_go_on_and_end_well_under_the_next_agent(server: MusterServer, tmp_path: Path) -> None:
    wait_for_go = f"echo began; echo x >> {tmp_path}/ran-$MUSTER_RANK; until [ -e {tmp_path}/go ]; do sleep 0.05; done"
    job = server.submit({"name": "goes-on", "replicas": 3, "command": f"{wait_for_go}; echo ended"})["id"]
    server.wait_for_state(job, "Running")
    before = set(task_processes(server.home))
    killed = kill_agent(server)
    wait_for_another_agent(server, killed)
    assert before & set(task_processes(server.home)), "the tasks went with their agent"
    (tmp_path / "go").touch()
    ended = server.wait(job)
    assert (ended["state"], ended["attempt"]) == ("Succeeded", 1)
    assert [(tmp_path / f"ran-{rank}").read_text() for rank in range(3)] == ["x\n"] * 3
    assert server.run("logs", job).stdout.count("ended") == 3
    wait_until_all_is_free(server)


def test_task_that_ended_while_no_agent_lived_is_known_by_its_exit_code(server: MusterServer, tmp_path: Path) -> None:
    job = server.submit({"name": "ended", "command": f"until [ -e {tmp_path}/go ]; do sleep 0.02; done; exit 7"})["id"]
    server.wait_for_state(job, "Running")
    (tmp_path / "go").touch()
    kill_agent(server)
    ended = server.wait(job)
    assert (ended["state"], ended["attempt"]) == ("Failed", 1)
    _, tasks = server.call("GET", f"/api/v1/jobs/{job}/tasks")
    assert [task["exitCode"] for task in tasks["items"]] == [7]


def test_agent_killed_while_it_launches_runs_each_task_once(server: MusterServer, tmp_path: Path) -> None:
    record = f'echo x >> {tmp_path}/"$MUSTER_TASK_UID"'
    small = {"resources": {"cpu": "10m"}, "replicas": 20, "command": record}
    jobs = []
    for number in range(5):
        jobs.append(server.submit({"name": f"burst-{number}", **small})["id"])
        for pid in agent_processes(server.home):
            with contextlib.suppress(ProcessLookupError):  # its children come and go
                os.kill(pid, signal.SIGKILL)
    for job in jobs:
        assert server.wait(job)["state"] == "Succeeded"
    ran = [file.read_text() for file in tmp_path.iterdir() if file.is_file()]
    assert len(ran) == 100
    assert set(ran) == {"x\n"}
    wait_until_nothing_runs(server.home)
    wait_until_all_is_free(server)


def test_follower_sees_what_is_printed_after_the_agent_was_killed(server: MusterServer, tmp_path: Path) -> None:
    line = f"echo before; until [ -e {tmp_path}/go ]; do sleep 0.05; done; echo after; sleep 1"
    job = server.submit({"name": "followed", "command": line})["id"]
    server.wait_for_state(job, "Running")
    printed: list[str] = []
    follower = threading.Thread(target=lambda: printed.append(server.run("logs", "-f", job).stdout))
    follower.start()
    wait_for_another_agent(server, kill_agent(server))
    (tmp_path / "go").touch()
    follower.join(PATIENCE * 30)
    assert not follower.is_alive(), "the follower waits for a line that came long ago"
    assert "before" in printed[0]
    assert "after" in printed[0]


def test_no_task_holds_an_end_of_the_line_between_server_and_agent(server: MusterServer) -> None:
    """If one did, the server would not notice the agent's death, and the task could speak in the agent's name."""
    for _ in range(2):
        wait_for_another_agent(server, kill_agent(server))
        wait_until_ready(server)
    job = server.submit({"name": "fds", "command": "ls -l /proc/self/fd; exec sleep 600"})["id"]
    server.wait_for_state(job, "Running")
    open_files = {
        str(entry.readlink())
        for pid in task_processes(server.home)
        for entry in Path(f"/proc/{pid}/fd").iterdir()
        if entry.is_symlink()
    }
    assert open_files, "the task runs"
    assert not [name for name in open_files if name.startswith(("socket:", "pipe:"))], open_files
