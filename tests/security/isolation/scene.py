"""An agent with a running task of a victim, on which a task of an attacker tries everything that it should not do.

The agent has a /dev of its own with two GPUs, the first of which is the victim's and the second the attacker's, and
with two FPGAs. They are harmless devices under other names.
"""

import hashlib
import io
import os
import secrets
import shutil
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.integration.agent_process.driver import Agent, wait_until
from tests.parts.passable import let_all_pass
from tests.security.isolation.attacks import (
    SECRET,
    Attempt,
    Cell,
    attack_script,
    attempts_in,
    shared_names,
    victim_program,
)

PLAIN_UID = 61_234
"""An account without rights, under which an agent runs that is not root."""
VICTIMS_GPU, ATTACKERS_GPU = 0, 1
INPUT = {"target": "in", "member": ""}

# Arguments: a folder for /dev, the version of control groups to use (0: none), then the command.
_SURROUNDINGS = """
set -e
dev=$1 version=$2
shift 2
mkdir "$dev"
mount -t tmpfs -o mode=755 dev "$dev"
for node in null zero full random urandom tty; do cp -a "/dev/$node" "$dev/"; done
for link in fd stdin stdout stderr ptmx; do cp -a "/dev/$link" "$dev/"; done
mkdir "$dev/shm" "$dev/pts"
mount --bind /dev/shm "$dev/shm"
mount --bind /dev/pts "$dev/pts"
mknod -m 666 "$dev/nvidia0" c 1 5
mknod -m 666 "$dev/nvidia1" c 1 7
mknod -m 666 "$dev/fpga0" c 1 8
mknod -m 666 "$dev/fpga1" c 1 9
ln -s fpga1 "$dev/fpga-by-name"
mount --rbind "$dev" /dev
case $version in
0) hidden="cgroup*" ;;
2) hidden=cgroup ;;
*) hidden=none ;;
esac
while read -r _ mounted kind _; do case $kind in $hidden) umount "$mounted" ;; esac; done < /proc/self/mounts
exec "$@"
"""


@dataclass(frozen=True)
class Scene:
    mode: str
    agent: Agent
    words: Mapping[str, Any]
    """What commands of attacks name in braces: the agent's pid and root, the victim's pid and folder, ..."""
    order: Mapping[str, Any]
    """The rest of the launch request of a task of the attacker."""

    def run(self, task: str, script: str, **more: Any) -> "Attack":
        self.agent.shell(task, script, **{**self.order, **more})
        return Attack(
            self.agent.wait_phase(task, "ended"), self.agent.log(task).decode(), self.agent.root / "tasks" / task
        )

    def attempt_all(self, cells: Mapping[str, Cell]) -> dict[str, Attempt]:
        return attempts_in(self.run("attacker", attack_script(cells, self.words)).log, cells)


@dataclass(frozen=True)
class Attack:
    status: Any
    log: str
    folder: Path


def isolation(mode: str, owner: str) -> dict[str, Any]:
    number = {"eve": 71_001, "bob": 71_002}[owner]
    return {"mode": mode, "owner": owner, "uid": number, "first_uid": 70_000, "last_uid": 79_999, "folders": []}


@contextmanager
def scene(
    mode: str, folder: Path, *, groups_version: int = 1, agents_uid: int = 0, is_closed: bool = False
) -> Iterator[Scene]:
    """`is_closed`: no other account than the agent's may pass through the folder in which all of this is."""
    if os.getuid() != 0:
        pytest.skip("only root can play several accounts")
    server_file = _file(folder / "context.json", b'{"token": "admin"}', 0o600, agents_uid)
    archive = _archive(folder, agents_uid)
    os.chown(folder, agents_uid, agents_uid)
    let_all_pass(folder.parent if agents_uid or is_closed else folder)
    around = surroundings(folder, groups_version, agents_uid)
    tag = f"muster-{secrets.token_hex(8)}"
    agent = Agent([*around, system_python(), "-m", "muster.agent"], folder / "node", {"MUSTER_FAKE_GPUS": "2xT4"})
    try:
        can = agent.ask("hello")["isolation"]
        if mode != "none" and not can[mode]:
            pytest.skip(f"this machine cannot: {can['why']}")
        order: dict[str, Any] = {"inputs": [{**INPUT, **archive}]}
        owned = {"isolation": isolation(mode, "bob"), "devices": [VICTIMS_GPU], "env": {"SECRET": SECRET}}
        agent.launch("victim", "/usr/bin/python3", "-c", victim_program(tag), **order, **owned)
        status = agent.wait_phase("victim", "running")
        wait_until(lambda: SECRET.encode() in agent.log("victim"), "the victim to be at work")
        words = {
            "pid": _program(status["pid"]),
            "agent": agent.process.pid,
            "victim": agent.root / "tasks/victim",
            "root": agent.root,
            "server_file": server_file,
            "tag": tag,
        }
        yield Scene(mode, agent, words, {**order, "isolation": isolation(mode, "eve"), "devices": [ATTACKERS_GPU]})
        agent.ask("stop", task="victim", grace_s=0)
        agent.wait_phase("victim", "ended")
    finally:
        agent.close()
        for path in (path for name in shared_names(tag) for path in (Path(name), Path(f"{name}.old"))):
            path.unlink(missing_ok=True)


def surroundings(folder: Path, groups_version: int, uid: int) -> Sequence[str]:
    """The command in front of the agent's."""
    become = ("setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups") if uid else ()
    unshare = ("unshare", "--mount", "--propagation", "private")
    return (*unshare, "sh", "-c", _SURROUNDINGS, "sh", str(folder / "dev"), str(groups_version), *become)


def system_python() -> str:
    """One that every account may run."""
    return next(path for path in ("/usr/bin/python3", shutil.which("python3") or "") if path)


def _file(path: Path, content: bytes, mode: int, uid: int) -> Path:
    path.write_bytes(content)
    path.chmod(mode)
    os.chown(path, uid, uid)
    return path


def _archive(folder: Path, uid: int) -> dict[str, str]:
    """An input with one file, as a launch request names it."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        entry = tarfile.TarInfo("data.txt")
        entry.size = len(b"clean\n")
        archive.addfile(entry, io.BytesIO(b"clean\n"))
    path = _file(folder / "input.tar.gz", buffer.getvalue(), 0o600, uid)
    return {"digest": hashlib.sha256(buffer.getvalue()).hexdigest(), "path": str(path)}


def _program(leader: int) -> int:
    """The victim's program: the leader itself, or the child of the first process of a namespace."""
    children = Path(f"/proc/{leader}/task/{leader}/children").read_text().split()
    return int(children[0]) if children else leader
