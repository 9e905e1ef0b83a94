"""What an agent says of its machine, how it is carried there, and when it leaves."""

import os
import subprocess
from pathlib import Path

import pytest

from muster.agent.archive import build_archive
from muster.agent.system.frames import encode
from muster.version import __version__

from .conftest import OLDEST, StartAgent
from .driver import DEADLINE_S, SOURCES, Agent


def test_oldest_supported_python_is_tried_too() -> None:
    if OLDEST is None:
        pytest.skip("no Python 3.8: set MUSTER_AGENT_PYTHON or put python3.8 on the PATH")
    done = subprocess.run([OLDEST, "-V"], check=True, capture_output=True, text=True)
    assert done.stdout.startswith("Python 3.8.")


def test_hello_describes_the_machine(agent: Agent) -> None:
    hello = agent.ask("hello")
    assert (hello["protocol"], hello["agent_version"]) == (1, __version__)
    assert hello["cpus"] == len(os.sched_getaffinity(0))
    assert 0 < hello["memory_bytes"] <= os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    assert hello["disk_free_bytes"] > 0
    assert hello["limits"]["memory"] or hello["limits"]["why"]
    assert hello["gpu_source"] in ("nvml", "nvidia-smi", "rocm-smi", "none")
    assert hello["address"].count(".") == 3


def test_pretended_gpus_are_told(start_agent: StartAgent) -> None:
    hello = start_agent(None, MUSTER_FAKE_GPUS="2xRTX3090,1xA100:40Gi").ask("hello")
    assert hello["gpu_source"] == "fake"
    assert [(gpu["index"], gpu["model"], gpu["memory_bytes"] >> 30) for gpu in hello["gpus"]] == [
        (0, "RTX3090", 24),
        (1, "RTX3090", 24),
        (2, "A100", 40),
    ]


def test_usage_tells_of_the_node_and_of_each_task(start_agent: StartAgent) -> None:
    agent = start_agent(None, MUSTER_FAKE_GPUS="1xT4")
    agent.ask("hello")
    agent.shell("busy", "sleep 300 & while :; do :; done")
    agent.wait_phase("busy", "running")
    agent.ask("usage", every_s=0.2)

    def samples() -> list[dict[str, dict[str, float]]]:
        found = [event["tasks"] for event in agent.events if event["event"] == "usage"]
        return [tasks for tasks in found if tasks.get("busy", {}).get("cpu_s", 0) > 0.1]

    agent.read_until(lambda: bool(samples()), "the task to have used some CPU")
    assert samples()[0]["busy"]["processes"] == 2  # shell, sleep
    assert samples()[0]["busy"]["rss_bytes"] > 100_000
    node = next(event["node"] for event in reversed(agent.events) if event["event"] == "usage")
    assert 0 < node["cpu_percent"] <= 100
    assert len(node["per_core"]) == os.cpu_count()
    assert 0 < node["memory_used_bytes"] < node["memory_total_bytes"]
    assert node["gpus"][0]["memory_total_bytes"] == 16 << 30
    agent.ask("usage", every_s=0)
    agent.ask("stop", task="busy", grace_s=0)


def test_agent_leaves_when_the_server_hangs_up_and_its_tasks_go_on(agent: Agent) -> None:
    agent.shell("t", "sleep 300")
    pid = agent.wait_phase("t", "running")["pid"]
    assert agent.close() == 0
    os.kill(pid, 0)


def test_nonsense_on_the_pipe_ends_the_agent_with_a_word_on_stderr(python: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [python, "-m", "muster.agent", "--root", str(tmp_path / "root")],
        check=False,
        input=b"\xff\xff\xff\xff",
        capture_output=True,
        timeout=DEADLINE_S,
        env={**os.environ, "PYTHONPATH": str(SOURCES)},
    )
    assert done.returncode == 1
    assert done.stdout == b""
    assert b"announces 2147483647 bytes" in done.stderr


def test_archive_runs_where_nothing_is_installed(python: str, tmp_path: Path) -> None:
    name = build_archive(tmp_path / "a")
    assert build_archive(tmp_path / "b") == name
    assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    agent = Agent([python, "-I", str(tmp_path / "a" / name)], tmp_path / "root", {"PYTHONPATH": "/nowhere"})
    try:
        assert agent.ask("hello")["agent_version"] == __version__
        assert agent.run("t", "/bin/echo", "hi")["exit_code"] == 0
        assert agent.log("t") == b"hi\n"
    finally:
        agent.close()


def test_many_tasks_at_once_all_end_and_are_all_told(agent: Agent) -> None:
    for number in range(150):
        agent.send("launch", task=f"t{number}", argv=["/bin/sh", "-c", f"exit {number}"], env={})
    for number in range(150):
        assert agent.wait_phase(f"t{number}", "ended")["exit_code"] == number


def test_frames_may_come_in_any_pieces(agent: Agent) -> None:
    assert agent.process.stdin is not None
    for byte in encode({"id": 77, "op": "ping"}):
        agent.process.stdin.write(bytes([byte]))
        agent.process.stdin.flush()
    agent.read_until(lambda: 77 in agent._answers, "the answer")
