"""What jobs used, through the command line and a real server: while they run, after a crash, in reports."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.parts.pseudo_terminal import at_terminal
from tests.parts.server import MusterServer, polls, running_server

WORK = """
import pathlib, time
block = bytearray(96 << 20)
while time.process_time() < 0.4: pass
while not pathlib.Path("{go}").exists(): time.sleep(0.1)
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MusterServer]:
    folder = tmp_path_factory.mktemp("usage")
    (folder / "cards").write_text("4xA100\nload 0 62 12Gi 65 210\n")
    with running_server(folder / "home", {"MUSTER_FAKE_GPUS": f"@{folder / 'cards'}"}) as made:
        yield made


def use_so_far(server: MusterServer, name: str) -> Any:
    usage: Any = None
    for _ in polls(60.0):
        usage = server.json("usage", name)
        if (usage["used"]["peakMemoryBytes"] or 0) > 96 << 20 and usage["used"]["gpuPercent"] is not None:
            return usage
    raise AssertionError(f"nothing was measured: {usage}")


def test_a_job_is_accounted_for_while_it_runs_after_a_crash_and_in_reports(
    server: MusterServer, tmp_path: Path
) -> None:
    go = tmp_path / "go"
    command = [sys.executable, "-c", WORK.format(go=go)]
    server.submit({"name": "eater", "command": command, "resources": {"gpu": 2, "memory": "1Gi"}})
    waiting = server.submit({"name": "patient", "command": "true", "resources": {"gpu": 4}})
    so_far = use_so_far(server, "eater")
    assert (so_far["state"], so_far["used"]["sampled"]) == ("Running", True)

    queue = server.json("queue")
    assert [(job["name"], job["position"]) for job in queue["items"]] == [("eater", None), ("patient", 1)]
    assert "patient" in server.run("queue", check=True).stdout
    server.run("cancel", "patient", check=True)
    server.wait(waiting["id"])

    server.kill()
    server.start()
    go.touch()
    assert server.wait("eater")["state"] == "Succeeded"

    usage = server.json("usage", "eater")
    (attempt,) = usage["attempts"]
    (task,) = attempt["tasks"]
    assert usage["used"]["sampled"] is False
    assert usage["used"]["cpuS"] >= 0.4
    assert 96 << 20 <= usage["used"]["peakMemoryBytes"] < 1 << 30
    assert (usage["used"]["gpuPercent"], usage["used"]["peakGpuPercent"]) == (31.0, 62.0)
    assert [(gpu["index"], gpu["meanPercent"]) for gpu in task["gpus"]] == [(0, 62.0), (1, 0.0)]

    table = server.run("usage", "eater", check=True).stdout
    assert "eater-worker-0" in table
    assert "GPUs at 31 %" in table
    assert "GPUs at 31 %" in server.run("describe", "eater", check=True).stdout
    wide = server.run("ps", "-o", "wide", check=True).stdout
    assert "31 %" in wide
    assert "DURATION" in wide.splitlines()[0]

    picture, sheet = tmp_path / "r.svg", tmp_path / "r.csv"
    report = server.json("report", "--since", "1d", "--by", "node")
    (line,) = [one for one in report["items"] if one["gpuHours"]]
    assert line["idleGpuHours"] == pytest.approx(line["gpuHours"] / 2, abs=0.002)
    server.run("report", "-o", str(sheet), "--picture", str(picture), check=True)
    assert sheet.read_text().count("\n") == 2
    ElementTree.fromstring(picture.read_text())


def test_top_ends_on_q_and_on_an_interrupt_and_restores_the_terminal(server: MusterServer) -> None:
    for key, code in (("q", 0), ("\x03", 130)):
        with at_terminal(server.command("top", "--interval", "60"), server.environment) as terminal:
            terminal.see("CPU")
            terminal.type(key)
            assert terminal.wait() == code
            assert terminal.is_restored


def test_a_glob_without_a_match_is_no_error_if_the_job_succeeded(server: MusterServer, tmp_path: Path) -> None:
    server.submit({"name": "tidy", "command": "true", "outputs": ["*.csv"]})
    assert server.wait("tidy")["state"] == "Succeeded"
    done = server.run("outputs", "tidy", "--get", str(tmp_path / "out"))
    assert done.returncode == 0, done.stderr
    server.submit({"name": "untidy", "command": "true", "outputs": ["model.bin"]})
    server.wait("untidy")
    assert server.run("outputs", "untidy", "--get", str(tmp_path / "out")).returncode == 1
