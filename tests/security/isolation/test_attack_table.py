"""What a hostile task can reach, for each way of isolation: every cell is an attack that is carried out.

The attacker and the victim are two plain users on one node. `none` shows that the attacks work where nothing prevents
them. A cell that is open in another mode, too, says so here and in the guide to isolation.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from tests.security.isolation.scene import PLAIN_UID, SECRET, Attempt, Scene, scene


class Cell(NamedTuple):
    command: str
    also_in: frozenset[str] = frozenset()
    """The modes that do not prevent it, besides `none`."""


UNDER_AN_ACCOUNT = frozenset({"user"})
EVERYWHERE = frozenset({"user", "namespace"})
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
CELLS = FILES | PROCESSES | SOCKETS | DEVICES
SCENES: dict[str, dict[str, Any]] = {
    "user": {},
    "user, control groups of version 2": {"groups_version": 2},
    "namespace": {},
    "namespace, agent without root": {"agents_uid": PLAIN_UID},
    "none": {},
}


class Played(NamedTuple):
    scene: Scene
    attempts: dict[str, Attempt]


@pytest.fixture(scope="module", params=list(SCENES))
def played(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Played]:
    mode = str(request.param).split(",")[0]
    with scene(mode, tmp_path_factory.mktemp("scene"), **SCENES[request.param]) as made:
        yield Played(made, made.attempt_all({name: cell.command for name, cell in CELLS.items()}))


@pytest.mark.parametrize("name", list(CELLS))
def test_a_task_reaches_what_is_not_its_own_only_where_the_guide_says_so(played: Played, name: str) -> None:
    attempt, mode = played.attempts[name], played.scene.mode
    assert attempt.succeeded is (mode == "none" or mode in CELLS[name].also_in), attempt.said


def test_a_task_opens_its_own_gpu(played: Played) -> None:
    assert played.scene.run("own-gpu", "head -c1 /dev/nvidia1 | wc -c").log == "1\n"


def test_a_task_without_a_gpu_opens_none(played: Played) -> None:
    if played.scene.mode == "none":
        pytest.skip("nothing closes devices there")
    assert played.scene.run("no-gpu", "cat /dev/nvidia0 || cat /dev/nvidia1 || echo none", devices=[]).log.endswith(
        "none\n"
    )


def test_a_task_cannot_make_folders_among_those_of_tasks(played: Played) -> None:
    """A namespaced task has a folder of that name for itself, in which it can do what it likes."""
    played.scene.run("makes", f"mkdir -p {played.scene.agent.root}/tasks/forged; true")
    assert (played.scene.agent.root / "tasks/forged").exists() is (played.scene.mode == "none")


def test_a_task_cannot_forge_its_own_end_or_a_stop(played: Played) -> None:
    if played.scene.mode == "none":
        pytest.skip("only the server's own view of its orders protects it there")
    forge = 'echo 0 > "$MUSTER_TASK_DIR/exit"; echo \'{"deadline": 0}\' > "$MUSTER_TASK_DIR/stop"; exit 5'
    attack = played.scene.run("forges", forge)
    assert (attack.status["exit_code"], attack.status["stopped"]) == (5, False)
    assert not (attack.folder / "stop").exists()


def test_a_task_can_use_what_is_its_own(played: Played) -> None:
    attack = played.scene.run(
        "own",
        "cd ~ && echo mine > file && cat file && touch $MUSTER_TASK_DIR/checkpoint && cat $MUSTER_TASK_DIR/rank && "
        'echo tmp > /tmp/muster-$$ && rm /tmp/muster-$$ && echo "$HOME" && cat in/data.txt && echo end >> /dev/stdout',
        files={"rank": "3\n"},
    )
    assert attack.log.splitlines() == ["mine", "3", f"{attack.folder}/work", "clean", "end"]
    assert attack.status["checkpoint_at"] is not None


def test_a_namespaced_task_sees_no_process_and_no_home_of_others(played: Played) -> None:
    if played.scene.mode != "namespace":
        pytest.skip("the other modes hide nothing, but protect it")
    told = played.scene.run("looks", "ls / /root /home; ls -d /proc/[0-9]* | wc -l; ls /dev/shm /tmp").log
    assert next(int(line) for line in told.splitlines() if line.isdigit()) <= 5
