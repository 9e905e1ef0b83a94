"""What a hostile task can reach, for each way of isolation: every cell is an attack that is carried out.

The attacker and the victim are two plain users on one node. `none` shows that the attacks work where nothing prevents
them.
"""

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from tests.integration.agent_process.driver import Agent, wait_until
from tests.parts.passable import let_all_pass

SECRET = "s3cr3t-of-the-victim"
PLAIN_UID = 61_234
"""An account without rights, under which an agent runs that is not root."""

PTRACE = "import ctypes; c = ctypes.CDLL(None); print('REACHED' if c.ptrace(16, {pid}, 0, 0) == 0 else 'no')"


@dataclass(frozen=True)
class Scene:
    """An agent with a running task of the victim."""

    mode: str
    agent: Agent
    server_file: Path
    victim_pid: int
    numbers: Iterator[int] = field(default_factory=count)

    def next_name(self) -> str:
        return f"attack-{next(self.numbers)}"

    @property
    def victim(self) -> Path:
        return self.agent.root / "tasks/victim"

    def attack(self, command: str, **more: Any) -> "Attack":
        words = {
            "pid": self.victim_pid,
            "agent": self.agent.process.pid,
            "victim": self.victim,
            "root": self.agent.root,
            "server_file": self.server_file,
        }
        name = self.next_name()
        self.agent.shell(name, command.format(**words), isolation=isolation(self.mode, "eve"), **more)
        return Attack(
            self.agent.wait_phase(name, "ended"), self.agent.log(name).decode(), self.agent.root / "tasks" / name
        )


@dataclass(frozen=True)
class Attack:
    status: Any
    log: str
    folder: Path


def isolation(mode: str, owner: str) -> dict[str, Any]:
    number = {"eve": 71_001, "bob": 71_002}[owner]
    return {"mode": mode, "owner": owner, "uid": number, "first_uid": 70_000, "last_uid": 79_999, "folders": []}


READS = {
    "the server's token": "cat {server_file} && echo REACHED",
    "the agent's own log": "cat {root}/agent.log && echo REACHED",
    "the list of tasks": "ls {root}/tasks | grep victim && echo REACHED",
    "another task's log": "cat {victim}/log && echo REACHED",
    "another task's files": "cat {victim}/work/model && echo REACHED",
    "another task's environment": "tr '\\0' '\\n' < /proc/{pid}/environ | grep " + SECRET + " && echo REACHED",
    "another task's memory": "dd if=/proc/{pid}/mem bs=1 count=0 2>/dev/null && echo REACHED",
    "another task's working folder through /proc": "cat /proc/{pid}/cwd/model && echo REACHED",
    "the agent's connection": "ls -l /proc/{agent}/fd/0 && echo REACHED",
}
WRITES = {
    "another task's log": "echo forged >> {victim}/log && echo REACHED",
    "another task's files": "echo forged > {victim}/work/model && echo REACHED",
    "another task's exit": "echo 0 > {victim}/exit && echo REACHED",
    "another task by a signal": "kill -0 {pid} && echo REACHED",
    "the agent by a signal": "kill -0 {agent} && echo REACHED",
}
ATTACKS = {f"reads {name}": command for name, command in READS.items()} | {
    f"changes {name}": command for name, command in WRITES.items()
}
ISOLATING = ("user", "namespace", "namespace without root")


@pytest.fixture(scope="module", params=[*ISOLATING, "none"])
def scene(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    if os.getuid() != 0:
        pytest.skip("only root can play several accounts")
    mode, _, is_plain = request.param.partition(" ")
    folder = tmp_path_factory.mktemp("scene")
    server_file = folder / "context.json"
    server_file.write_text('{"token": "admin"}')
    server_file.chmod(0o600)
    around: list[str] = []
    if is_plain:
        for path in (folder, server_file):
            os.chown(path, PLAIN_UID, PLAIN_UID)
        let_all_pass(folder.parent)
        around = ["setpriv", f"--reuid={PLAIN_UID}", f"--regid={PLAIN_UID}", "--clear-groups"]
    agent = Agent([*around, system_python(), "-m", "muster.agent"], folder / "node")
    try:
        can = agent.ask("hello")["isolation"]
        if mode != "none" and not can[mode]:
            pytest.skip(f"this machine cannot: {can['why']}")
        command = f"echo {SECRET} > model; echo {SECRET}; exec sleep 600"
        agent.shell("victim", command, env={"SECRET": SECRET}, isolation=isolation(mode, "bob"))
        status = agent.wait_phase("victim", "running")
        wait_until(lambda: SECRET.encode() in agent.log("victim"), "the victim to be at work")
        yield Scene(mode, agent, server_file, _sleeping(status["pid"]))
        agent.ask("stop", task="victim", grace_s=0)
        agent.wait_phase("victim", "ended")
    finally:
        agent.close()


@pytest.mark.parametrize("attack", list(ATTACKS.values()), ids=list(ATTACKS))
def test_a_task_reaches_what_is_not_its_own_only_without_isolation(scene: Scene, attack: str) -> None:
    reached = "REACHED" in scene.attack(attack).log
    assert reached is (scene.mode == "none")


def test_a_task_traces_another_only_without_isolation(scene: Scene) -> None:
    told = scene.attack(f'/usr/bin/python3 -c "{PTRACE}"').log
    assert ("REACHED" in told) is (scene.mode == "none"), told


def test_a_task_cannot_make_folders_among_those_of_tasks(scene: Scene) -> None:
    """A namespaced task has a folder of that name for itself, in which it can do what it likes."""
    scene.attack("mkdir -p {root}/tasks/forged; true")
    assert (scene.agent.root / "tasks/forged").exists() is (scene.mode == "none")


def test_a_task_cannot_forge_its_own_end_or_a_stop(scene: Scene) -> None:
    if scene.mode == "none":
        pytest.skip("only the server's own view of its orders protects it there")
    attack = scene.attack(
        'echo 0 > "$MUSTER_TASK_DIR/exit"; echo \'{{"deadline": 0}}\' > "$MUSTER_TASK_DIR/stop"; exit 5'
    )
    assert (attack.status["exit_code"], attack.status["stopped"]) == (5, False)
    assert not (attack.folder / "stop").exists()


def test_a_task_can_use_what_is_its_own(scene: Scene) -> None:
    attack = scene.attack(
        "cd ~ && echo mine > file && cat file && touch $MUSTER_TASK_DIR/checkpoint && cat $MUSTER_TASK_DIR/rank && "
        'echo tmp > /tmp/muster-$$ && rm /tmp/muster-$$ && echo "$HOME" && echo end >> /dev/stdout',
        files={"rank": "3\n"},
    )
    assert attack.log.splitlines() == ["mine", "3", f"{attack.folder}/work", "end"]
    assert attack.status["checkpoint_at"] is not None


def test_a_namespaced_task_sees_no_process_and_no_home_of_others(scene: Scene) -> None:
    if scene.mode != "namespace":
        pytest.skip("the other modes hide nothing, but protect it")
    told = scene.attack("ls / /root /home; ls -d /proc/[0-9]* | wc -l; touch /usr/x /etc/x; ls /dev/shm /tmp").log
    assert "read-only" in told.lower() or "permission" in told.lower() or "denied" in told.lower()
    processes = next(int(line) for line in told.splitlines() if line.isdigit())
    assert processes <= 5


def _sleeping(leader: int) -> int:
    """The victim's program: the leader itself, or the child of the first process of a namespace."""
    children = Path(f"/proc/{leader}/task/{leader}/children").read_text().split()
    return int(children[0]) if children else leader


def system_python() -> str:
    """One that every account may run."""
    return next(path for path in ("/usr/bin/python3", shutil.which("python3") or "") if path)
