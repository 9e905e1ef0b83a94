"""A task from launch to its end, and what its process finds around it."""

import os
import signal
import subprocess
import sys
from base64 import b64encode
from pathlib import Path

import pytest

from muster.agent.system.frames import FrameDecoder, Message, encode
from muster.agent.system.processes import Identity, boot_id
from muster.agent.tasks.command import FRONT
from muster.agent.tasks.joining import Joining
from muster.agent.tasks.records import read_started

from .driver import DEADLINE_S, SOURCES, Agent, Refused, wait_until

WAIT_FOR_GO = "while ! [ -e go ]; do sleep 0.02; done"


def test_command_that_succeeds_goes_through_running_to_ended(agent: Agent) -> None:
    assert agent.shell("t", "echo hello; read line < gate; exit 0")["phase"] in ("preparing", "running")
    agent.wait_phase("t", "ended")  # there is no gate, so it goes on at once
    agent.shell("u", WAIT_FOR_GO)
    running = agent.wait_phase("u", "running")
    (agent.root / "tasks/u/work/go").touch()
    ended = agent.wait_phase("u", "ended")
    assert (ended["exit_code"], ended["signal"], ended["stopped"], ended["error"]) == (0, None, False, None)
    assert running["pid"] == ended["pid"]
    assert running["started_at"] == ended["started_at"] <= ended["ended_at"]


@pytest.mark.parametrize(
    ("script", "code", "number"),
    [("exit 7", 7, None), ("kill -KILL $$", 137, 9), ("kill -SEGV $$", 139, 11), ("exit 200", 200, None)],
)
def test_exit_code_and_signal_are_reported(agent: Agent, script: str, code: int, number: int | None) -> None:
    agent.shell("t", script)
    ended = agent.wait_phase("t", "ended")
    assert (ended["exit_code"], ended["signal"]) == (code, number)


def test_missing_program_ends_with_127_and_the_log_says_so(agent: Agent) -> None:
    assert agent.run("t", "no-such-program")["exit_code"] == 127
    assert b"no-such-program: not found" in agent.log("t")


def test_program_named_like_a_shell_builtin_is_not_run_by_a_shell(agent: Agent) -> None:
    assert agent.run("t", "exit", "3")["exit_code"] == 127


def test_missing_working_folder_ends_with_126(agent: Agent) -> None:
    assert agent.run("t", "/bin/true", cwd="/no/such/folder")["exit_code"] == 126
    assert b"/no/such/folder" in agent.log("t")


def test_environment_is_what_was_asked_and_little_more(agent: Agent) -> None:
    agent.run("t", "env", env={"SECRET": "s3", "HOME": "/elsewhere", "line": "kept"})
    found = dict(line.split("=", 1) for line in agent.log("t").decode().splitlines())
    folder = str(agent.root / "tasks" / "t")
    assert found == {
        "SECRET": "s3",
        "HOME": "/elsewhere",
        "line": "kept",
        "PATH": os.environ["PATH"],
        "PWD": folder + "/work",
        "MUSTER_TASK_DIR": folder,
        "MUSTER_TASK_UID": "t",
        "PYTHONPATH": folder + "/muster.zip",
    }


def test_secrets_are_neither_in_arguments_nor_on_disk(agent: Agent) -> None:
    agent.shell("t", "sleep 60", env={"TOKEN": "very-secret"})
    pid = agent.wait_phase("t", "running")["pid"]
    assert b"very-secret" not in Path(f"/proc/{pid}/cmdline").read_bytes()
    files = [path for path in agent.root.rglob("*") if path.is_file()]
    assert not [path for path in files if b"very-secret" in path.read_bytes()]
    assert (agent.root / "tasks/t/task.json").stat().st_mode & 0o777 == 0o600
    assert agent.root.stat().st_mode & 0o777 == 0o700
    agent.ask("stop", task="t", grace_s=0)


def test_a_task_that_spoils_the_folder_of_its_secrets_does_no_harm(agent: Agent) -> None:
    value = b64encode(b"hunter2").decode()
    nest = "import os\nfor _ in range(3000): os.mkdir('d'); os.chdir('d')"
    agent.shell(
        "t",
        f'cd "$SECRETS"; {sys.executable} -c "{nest}"',
        secrets={"files": {"key": value}, "masked": [value]},
        env={"SECRETS": f"{agent.root}/tasks/t/secrets"},
    )
    assert agent.wait_phase("t", "ended")["exit_code"] == 0
    folder = agent.root / "tasks" / "t"
    wait_until(lambda: not (folder / "masked").exists(), "the log to be masked")
    assert not (folder / "secrets").exists()
    assert agent.run("u", "/bin/true")["exit_code"] == 0


def test_command_has_default_signals_no_terminal_and_only_standard_descriptors(agent: Agent) -> None:
    agent.shell("t", "grep -E '^Sig(Ign|Blk)' /proc/self/status; ls /proc/self/fd; readlink /proc/self/fd/0")
    agent.wait_phase("t", "ended")
    lines = agent.log("t").decode().split()
    assert lines[:2] == ["SigBlk:", "0" * 16]
    assert lines[2] == "SigIgn:"
    assert int(lines[3], 16) & 0x7FFFFFFF == 0  # the C library ignores two internal ones above
    assert lines[4:] == ["0", "1", "2", "3", "/dev/null"]  # 3 is the folder that ls itself reads


def test_files_are_written_beside_the_log_before_the_start(agent: Agent) -> None:
    agent.shell("t", "cat $MUSTER_TASK_DIR/trainer_id", files={"trainer_id": "4\n"})
    agent.wait_phase("t", "ended")
    assert agent.log("t") == b"4\n"


def test_launching_again_answers_with_the_status_and_runs_nothing(agent: Agent) -> None:
    agent.shell("t", "echo once")
    first = agent.wait_phase("t", "ended")
    assert agent.shell("t", "echo twice") == first
    assert agent.log("t") == b"once\n"


@pytest.mark.parametrize("shell", ["/bin/sh", "/bin/dash", "/bin/bash", "/bin/busybox"])
def test_shell_before_a_command_joins_its_groups_enters_its_folder_and_becomes_it(tmp_path: Path, shell: str) -> None:
    if not Path(shell).exists():
        pytest.skip(f"no {shell} here")
    interpreter = [shell, "sh"] if shell.endswith("busybox") else [shell]
    work, group = tmp_path / "work", tmp_path / "cgroup.procs"
    work.mkdir()
    given = [str(work), str(group), "", "/bin/sh", "-c", "pwd -P; echo ${OLDPWD-none} ${_muster_group-none}; exit 5"]
    done = subprocess.Popen([*interpreter, "-c", FRONT, "muster-task", *given], stdout=subprocess.PIPE, text=True)
    assert done.communicate()[0] == f"{work}\nnone none\n"
    assert done.returncode == 5
    assert group.read_text() == f"{done.pid}\n"


def test_claim_lets_only_one_of_several_shims_run(python: str, tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    shims = [start_shim(python) for _ in range(5)]
    for shim in shims:
        order(shim, tmp_path, "echo ran; exit 5")
    told = [read_notices(shim) for shim in shims]
    assert sorted(notices[0]["event"] for notices in told) == ["refused"] * 4 + ["started"]
    (ran,) = (notices for notices in told if notices[0]["event"] == "started")
    assert (ran[1]["event"], ran[1]["code"], ran[1]["left"]) == ("ended", 5, False)
    assert (tmp_path / "log").read_text() == "ran\n"
    assert (tmp_path / "exit").read_text() == "5\n"
    record = read_started(str(tmp_path))
    assert record is not None
    assert record.leader == Identity(ran[0]["pid"], ran[0]["start_ticks"], boot_id())
    assert record.shim is not None
    assert record.shim.pid in [shim.pid for shim in shims]


def test_shim_runs_a_command_though_the_agent_died_a_moment_ago(python: str, tmp_path: Path) -> None:
    """Nobody reads the notices any more: neither the shim nor the command may mind."""
    (tmp_path / "work").mkdir()
    shim = start_shim(python)
    assert shim.stdout is not None
    shim.stdout.close()
    order(shim, tmp_path, "echo ran; exit 5")
    assert shim.wait(DEADLINE_S) == 0
    assert (tmp_path / "log").read_text() == "ran\n"
    assert (tmp_path / "exit").read_text() == "5\n"


def start_shim(python: str) -> subprocess.Popen[bytes]:
    code = "from muster.agent.tasks.shim import main; main()"
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(SOURCES)}
    return subprocess.Popen([python, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env)


def order(shim: subprocess.Popen[bytes], folder: Path, script: str) -> None:
    """The one order that it gets."""
    command = {"argv": ["/bin/sh", "-c", script], "env": {"PATH": "/bin:/usr/bin"}, "groups": Joining("", "", ())}
    assert shim.stdin is not None
    shim.stdin.write(encode({"task": "t", "folder": str(folder), "cwd": f"{folder}/work", **command}))
    shim.stdin.flush()


def read_notices(shim: subprocess.Popen[bytes]) -> list[Message]:
    """Until it has nothing more to say."""
    assert shim.stdin is not None
    assert shim.stdout is not None
    decoder = FrameDecoder()
    found: list[Message] = []
    while not found or found[-1]["event"] == "started":
        data = os.read(shim.stdout.fileno(), 65536)
        assert data, "the shim has ended and said nothing more"
        found += decoder.feed(data)
    shim.stdin.close()
    assert shim.wait(DEADLINE_S) == 0
    shim.stdout.close()
    return found


def test_killed_shim_loses_nothing_and_the_next_task_finds_another(agent: Agent) -> None:
    agent.shell("t", f"{WAIT_FOR_GO}; echo done; exit 6")
    agent.shell("u", "kill -9 $PPID; sleep 1; exit 7")
    pid = agent.wait_phase("t", "running")["pid"]
    ended = agent.wait_phase("u", "ended")
    assert (ended["exit_code"], ended["stopped"]) == (7, False)
    assert agent.run("v", "/bin/sh", "-c", "exit 8")["exit_code"] == 8
    assert agent.status("t")["pid"] == pid
    (agent.root / "tasks/t/work/go").touch()
    assert agent.wait_phase("t", "ended")["exit_code"] == 6
    assert (agent.root / "tasks/t/exit").read_text() == "6\n"
    assert agent.log("t") == b"done\n"


def test_shim_is_spared_the_signals_meant_for_the_command(agent: Agent) -> None:
    agent.shell("t", "trap 'echo got it; exit 9' TERM; echo ready; while :; do sleep 0.05; done")
    pid = agent.wait_phase("t", "running")["pid"]
    agent.ask("watch_log", task="t")
    agent.read_until(lambda: any(event.get("size") for event in agent.events), "the command to be ready")
    os.killpg(pid, signal.SIGTERM)
    assert agent.wait_phase("t", "ended")["exit_code"] == 9
    assert b"got it" in agent.log("t")


@pytest.mark.parametrize(
    "fields",
    [
        {"task": "../up"},
        {"task": ".."},
        {"task": ""},
        {"task": "t" * 129},
        {"argv": []},
        {"argv": ["-x"]},
        {"env": {"A.B": "c"}},
        {"files": {"a/b": ""}},
        {"files": {"started": ""}},
        {"cwd": "relative"},
        {"ports": [0]},
        {"package": {"digest": "abc", "path": "/p"}},
    ],
)
def test_bad_launch_is_refused_and_leaves_nothing(agent: Agent, fields: dict[str, object]) -> None:
    with pytest.raises(Refused) as refused:
        agent.ask("launch", **{"task": "t", "argv": ["/bin/true"], "env": {}, **fields})
    assert refused.value.code == "bad-request"
    assert agent.ask("list")["tasks"] == []
    assert list((agent.root / "tasks").iterdir()) == []


def test_unknown_operation_is_refused(agent: Agent) -> None:
    with pytest.raises(Refused, match="no operation 'dance'"):
        agent.ask("dance")


def test_forget_removes_ended_tasks_only_and_follows_no_link(agent: Agent, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").write_text("keep")
    agent.shell("t", f"ln -s {outside} link; mkdir locked; touch locked/x; chmod 0 locked; {WAIT_FOR_GO}")
    with pytest.raises(Refused) as refused:
        agent.ask("forget", task="t")
    assert refused.value.code == "still-running"
    (agent.root / "tasks/t/work/go").touch()
    agent.wait_phase("t", "ended")
    agent.ask("forget", task="t")
    assert agent.ask("list")["tasks"] == []
    assert not (agent.root / "tasks" / "t").exists()
    assert (outside / "precious").read_text() == "keep"
    agent.ask("forget", task="t")
