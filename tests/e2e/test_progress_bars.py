"""A progress bar looks like one wherever a log is read: at a terminal, in a pipe, on the page."""

import secrets
import subprocess
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.e2e.browsing import MISSING, browser_tab, chromium
from tests.parts.pseudo_terminal import at_terminal
from tests.parts.server import MusterServer, polls, running_server
from tests.parts.terminal_screen import seen_lines

PASSWORD = "correct horse battery"
BAR = """
import os, sys, time
print("start", flush=True)
for done in (10, 50, 100):
    for step in range(5):
        sys.stderr.write("\\r%3d%%|%s 训练 %d" % (done, "#" * (done // 10), step))
        sys.stderr.flush()
    while done < 100 and not os.path.exists(os.path.join(sys.argv[1], str(done))):
        time.sleep(0.05)
print("\\nend", flush=True)
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MusterServer]:
    with running_server(tmp_path_factory.mktemp("bars") / "home") as made:
        yield made


def until(is_true: Callable[[], bool]) -> None:
    for _ in polls(60):
        if is_true():
            return
    raise AssertionError("it never came true")


def submitted(server: MusterServer, gate: Path, replicas: int) -> str:
    gate.mkdir()
    program = gate / "bar.py"
    program.write_text(BAR)
    name = f"bar-{secrets.token_hex(4)}"
    server.submit({"name": name, "command": ["python3", str(program), str(gate)], "replicas": replicas})
    return name


def test_one_worker_has_one_live_line(server: MusterServer, tmp_path: Path) -> None:
    job = submitted(server, tmp_path / "gate", 1)
    with at_terminal(server.command("logs", "-f", job), server.environment) as terminal:
        terminal.see_state(lambda: seen_lines(terminal.written) == ["start", " 10%|# 训练 4"])
        (tmp_path / "gate" / "10").touch()
        terminal.see_state(lambda: seen_lines(terminal.written) == ["start", " 50%|##### 训练 4"])
        terminal.see("50%|##### 训练 4")
        terminal.resize(30, 12)
        terminal.see(" 50%|####")
        (tmp_path / "gate" / "50").touch()
        assert terminal.wait() == 0
    assert seen_lines(terminal.written)[-3:] == ["100%|########## 训练 4", "end", ""]


def test_two_workers_have_a_live_line_each_and_a_pipe_has_the_last_frames(server: MusterServer, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    job = submitted(server, gate, 2)
    with at_terminal(server.command("logs", "-f", job), server.environment) as terminal:
        terminal.see("worker-0 |")
        bars = ["worker-0 |  10%|# 训练 4", "worker-1 |  10%|# 训练 4"]
        terminal.see_state(lambda: seen_lines(terminal.written)[-2:] == bars)
        assert sorted(seen_lines(terminal.written)[:-2]) == ["worker-0 | start", "worker-1 | start"]
        (gate / "10").touch()
        bars = ["worker-0 |  50%|##### 训练 4", "worker-1 |  50%|##### 训练 4"]
        terminal.see_state(lambda: seen_lines(terminal.written)[-2:] == bars)
        (gate / "50").touch()
        assert terminal.wait() == 0
    lines = [f"worker-{n} | {text}" for n in (0, 1) for text in ("start", "100%|########## 训练 4", "end")]
    assert sorted(seen_lines(terminal.written)) == sorted([*lines, ""])

    piped = server.run("logs", job, check=True).stdout
    assert sorted(piped.splitlines()) == sorted(lines)
    raw = server.run("logs", job, "-w", "worker-0", "--raw", check=True).stdout
    assert raw.count("%|") == 15


def test_run_shows_the_last_unfinished_line_at_the_end(server: MusterServer) -> None:
    words = server.command("run", "--no-package", "--", r"printf 'a\r\033[31mb\033[0m'")
    with at_terminal(words, server.environment) as terminal:
        assert terminal.wait() == 0
    assert "b" in seen_lines(terminal.written)
    done = server.run("run", "--no-package", "--", r"printf 'one\ra\033[Kb'", check=True)
    assert done.stdout == "ab"


@pytest.mark.slow
@pytest.mark.skipif(chromium() is None, reason=MISSING)
def test_the_page_redraws_the_line_in_place(server: MusterServer, tmp_path: Path) -> None:
    person, gate = f"page-{secrets.token_hex(4)}", tmp_path / "gate"
    server.call("POST", "/api/v1/users", {"name": person, "role": "admin", "password": PASSWORD})
    job = submitted(server, gate, 2)
    with browser_tab(f"{server.url}/#/jobs/{job}?tab=logs") as tab:
        tab.log_in(person, PASSWORD)
        log = "(document.querySelector('[role=log]')?.innerText ?? '')"
        tab.wait_for(f"{log}.split(' 10%|# 训练 4').length === 3")
        (gate / "10").touch()
        tab.wait_for(f"{log}.split(' 50%|##### 训练 4').length === 3 && !{log}.includes('10%')")
        (gate / "50").touch()
        tab.wait_for(f"{log}.split('100%|########## 训练 4').length === 3 && !{log}.includes('50%')")
        tab.wait_for(f"{log}.split('end').length === 3")
        assert tab.errors == []


def test_lines_are_selected_by_the_time_at_which_they_were_written(server: MusterServer, tmp_path: Path) -> None:
    gate, name = tmp_path / "gate", f"times-{secrets.token_hex(4)}"
    command = f"echo early; while [ ! -e {gate} ]; do sleep 0.05; done; echo late; echo later"
    server.submit({"name": name, "command": command})

    def printed(*options: str) -> str:
        return server.run("logs", name, *options, check=True).stdout

    until(lambda: "early" in printed())
    written = datetime.fromisoformat(printed("--timestamps").split()[0])
    between = (written + timedelta(seconds=2)).isoformat()
    until(lambda: datetime.now(UTC) > written + timedelta(seconds=3))
    gate.touch()
    until(lambda: "later" in printed())
    for _ in range(2):  # from the node, and from the server when the log is collected
        assert printed("--until", between) == "early\n"
        assert printed("--since", between) == "late\nlater\n"
        assert printed("--since", "1h", "--grep", "LATE", "-i", "-w", "0") == "late\nlater\n"
        first, *others = (line.split()[0] for line in printed("--timestamps").splitlines())
        assert abs(datetime.fromisoformat(first) - written) < timedelta(seconds=2)
        assert all(datetime.fromisoformat(one) > written + timedelta(seconds=2) for one in others)
        server.wait(name)


def test_a_follower_is_told_on_stderr_why_the_job_waits(server: MusterServer) -> None:
    name = f"waits-{secrets.token_hex(4)}"
    server.submit({"name": name, "command": "echo done", "hold": True})
    pipes = {"env": server.environment, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with (
        subprocess.Popen(server.command("logs", "-f", name), **pipes) as logs,  # type: ignore[call-overload]
        subprocess.Popen(server.command("wait", name), **pipes) as wait,  # type: ignore[call-overload]
    ):
        said = [process.stderr.readline() for process in (logs, wait)]
        server.run("resume", name, check=True)
        printed = [process.communicate(timeout=120)[0] for process in (logs, wait)]
    assert all(words.startswith("  Held") for words in said), said
    assert printed == ["done\n", ""]
