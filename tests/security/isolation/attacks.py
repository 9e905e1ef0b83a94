"""The attacks: what a hostile task tries to reach. Each prints a word if it succeeded.

Commands name in braces what differs from scene to scene: the pid and folder of the victim's task, the agent's pid and
root, a file of the agent's account, and a tag in the names of what the victim shares.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

SECRET = "s3cr3t-of-the-victim"
_END = "end-of-attempt"


class Attempt(NamedTuple):
    succeeded: bool
    said: str


class Cell(NamedTuple):
    command: str
    also_in: frozenset[str] = frozenset()
    """The modes that do not prevent it, besides `none`."""


UNDER_AN_ACCOUNT = frozenset({"user"})
EVERYWHERE = frozenset({"user", "namespace", "container"})
PTRACE = "import ctypes; print('REACHED' if ctypes.CDLL(None).ptrace(16, {pid}, 0, 0) == 0 else 'no')"
CONNECT = "import socket; socket.socket(socket.AF_UNIX).connect(%s); print('REACHED')"


def python(code: str) -> str:
    return f'/usr/bin/python3 -c "{code}"'


def has_secret(path: str) -> str:
    return f"grep -q {SECRET} {path} && echo REACHED"


FILES = {
    "reads the server's token": Cell("cat {server_file} && echo REACHED"),
    "reads the agent's own log": Cell("cat {root}/agent.log && echo REACHED"),
    "lists the tasks": Cell("ls {root}/tasks | grep victim && echo REACHED"),
    "reads another task's log": Cell(has_secret("{victim}/log")),
    "reads another task's files": Cell(has_secret("{victim}/work/model")),
    "changes another task's log": Cell("echo forged >> {victim}/log && echo REACHED"),
    "changes another task's files": Cell("echo forged > {victim}/work/forged && echo REACHED"),
    "changes another task's exit": Cell("echo 0 > {victim}/exit.forged && echo REACHED"),
    "finds the names of others in /tmp": Cell("ls /tmp | grep {tag} && echo REACHED", UNDER_AN_ACCOUNT),
    "reads the files of others in /tmp": Cell(has_secret("/tmp/{tag}")),
    "takes the names of others in /tmp": Cell(
        "mv /tmp/{tag} /tmp/{tag}.old && ln -s /etc/passwd /tmp/{tag} && echo REACHED"
    ),
    "changes an input that others read": Cell(
        "chmod -R u+w in/. && echo forged > in/data.txt && grep forged in/data.txt && echo REACHED"
    ),
    "replaces an input that others read": Cell("cd -P in && mv . ../forged || mv $PWD $PWD.forged && echo REACHED"),
    "changes the system": Cell("[ -w /usr/bin -o -w /etc ] && echo REACHED"),
    "leaves a job for cron": Cell(
        "for path in /etc/cron.d /etc/crontab /var/spool/cron; do [ -w $path ] && echo REACHED; done"
    ),
}
PROCESSES = {
    "sees that other processes exist": Cell("[ -d /proc/{pid} ] && echo REACHED", UNDER_AN_ACCOUNT),
    "reads another task's environment": Cell(f"tr '\\0' '\\n' < /proc/{{pid}}/environ | {has_secret('-')}"),
    "reads another task's memory": Cell("dd if=/proc/{pid}/mem bs=1 count=0 && echo REACHED"),
    "reads the map of another task's memory": Cell('[ -n "$(head -c1 /proc/{pid}/maps)" ] && echo REACHED'),
    "reads another task's files through /proc": Cell(has_secret("/proc/{pid}/cwd/model")),
    "lists another task's descriptors": Cell("ls /proc/{pid}/fd && echo REACHED"),
    "traces another task": Cell(python(PTRACE)),
    "signals another task": Cell("kill -0 {pid} && echo REACHED"),
    "signals the agent": Cell("kill -0 {agent} && echo REACHED"),
    "changes the priority of another task": Cell("renice -n 19 -p {pid} && echo REACHED"),
    "gains rights by a set-user-ID program": Cell("grep -q 'NoNewPrivs:.*0' /proc/self/status && echo REACHED"),
}
SOCKETS = {
    "connects to another task's socket": Cell(python(CONNECT % "'{victim}/work/socket'")),
    "connects to another task's socket through /proc": Cell(python(CONNECT % "'/proc/{pid}/cwd/socket'")),
    "connects to an abstract socket": Cell(python(CONNECT % r"'\0{tag}'"), EVERYWHERE),
    "opens the connection of the agent": Cell("[ -e /proc/{agent}/fd/0 ] && echo REACHED"),
}
DEVICES = {
    "opens another task's GPU": Cell("head -c1 /dev/nvidia0 && echo REACHED"),
    "opens another task's GPU under another name": Cell("mknod gpu c 1 5 && head -c1 gpu && echo REACHED"),
    "finds the shared memory of others": Cell("ls /dev/shm | grep {tag} && echo REACHED", UNDER_AN_ACCOUNT),
    "reads the shared memory of others": Cell(has_secret("/dev/shm/{tag}")),
    "removes the shared memory of others": Cell("rm /dev/shm/{tag} && echo REACHED"),
}
SHARED_MEMORY = {name: cell for name, cell in DEVICES.items() if "shared memory" in name}

# What the victim does: it keeps files where others might find them, and listens on sockets.
_VICTIM = """
import os, socket, time
open("model", "w").write({secret!r})
for path in {shared!r}:
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    open(path, "w").write({secret!r})
listeners = [socket.socket(socket.AF_UNIX) for _ in range(2)]
listeners[0].bind("socket")
listeners[1].bind("\\0" + {tag!r})
for listener in listeners:
    listener.listen()
print({secret!r}, flush=True)
time.sleep(3600)
"""


def shared_names(tag: str) -> list[str]:
    """The files of the victim in folders that all tasks may write to."""
    return [f"/tmp/{tag}", f"/dev/shm/{tag}"]


def victim_program(tag: str) -> str:
    return _VICTIM.format(secret=SECRET, shared=shared_names(tag), tag=tag)


def attack_script(cells: Mapping[str, Cell], words: Mapping[str, Any]) -> str:
    """One task tries everything, because starting one for each attempt would take most of the time."""
    commands = [cell.command.format(**words) for cell in cells.values()]
    return "".join(f"( {command} ) 2>&1\necho; echo {_END}\n" for command in commands)


def attempts_in(log: str, cells: Mapping[str, Cell]) -> dict[str, Attempt]:
    parts = log.split(f"{_END}\n")
    assert len(parts) == len(cells) + 1, log
    return {name: Attempt("REACHED" in said, said) for name, said in zip(cells, parts, strict=False)}


def is_expected(attempt: Attempt, cell: Cell, mode: str) -> bool:
    """Whether the attack went as the guide to isolation says."""
    return attempt.succeeded is (mode == "none" or mode in cell.also_in)
