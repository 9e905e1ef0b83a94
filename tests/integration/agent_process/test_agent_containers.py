"""Tasks in real containers: how they end, what they see, and that nothing of them is left."""

import json
import os
import shutil
import signal
import sys
import tempfile
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest

from muster.agent.tasks.records import read_started
from muster.domain.failures.container_failures import DENIED, ENGINE_FAILED, engine_failure
from muster.domain.specs import Mount
from muster.launch.containers import (
    ENV_FILE,
    STATE_FILE,
    ContainerLaunch,
    ContainerTask,
    Engine,
    TaskFolder,
    container_launch,
)
from tests.parts.docker import Docker
from tests.parts.engines import IMAGE, EngineMissing, EnginePart, pack_image
from tests.parts.podman import private_podman, remove
from tests.parts.rebooting import a_boot, calls_there, remove_groups
from tests.parts.registry import PASSWORD, Registry, private_registry
from tests.parts.rootless import remove as remove_rootless
from tests.parts.rootless import rootless_podman

from .conftest import OLDEST, StartAgent
from .driver import Agent, wait_until

OTHERS = ("rootless", "docker")


Made = TypeVar("Made")


def made_in(base: Path, make: Callable[[Path], Made]) -> Made:
    """Or the tests that need it are skipped with the reason."""
    try:
        return make(base)
    except EngineMissing as missing:
        shutil.rmtree(base, ignore_errors=True)
        pytest.skip(str(missing))


@pytest.fixture(scope="module")
def podman() -> Iterator[EnginePart]:
    base = Path(tempfile.mkdtemp(prefix="muster-podman-"))
    found = made_in(base, private_podman)
    yield found
    remove(found, base)


@pytest.fixture(scope="module")
def docker() -> Iterator[Docker]:
    base = Path(tempfile.mkdtemp(prefix="muster-docker-", dir="/tmp"))
    found = made_in(base, Docker.started)
    yield found
    found.remove()


@pytest.fixture(scope="module")
def rootless() -> Iterator[EnginePart]:
    base = Path(tempfile.mkdtemp(prefix="muster-rootless-", dir="/tmp"))
    yield made_in(base, rootless_podman)
    remove_rootless(base)


@pytest.fixture(scope="module", params=["podman", *(["podman with the oldest Python"] if OLDEST else []), *OTHERS])
def case(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def engine(request: pytest.FixtureRequest, case: str) -> EnginePart:
    part: EnginePart | Docker = request.getfixturevalue(case.split()[0])
    return part.engine if isinstance(part, Docker) else part


@pytest.fixture
def python(request: pytest.FixtureRequest) -> str:
    """The oldest is tried with one engine: the agent does the same for all."""
    case = request.getfixturevalue("case") if "case" in request.fixturenames else ""
    return OLDEST if OLDEST and "oldest" in case else sys.executable


@pytest.fixture
def ground(engine: EnginePart, tmp_path: Path) -> Path:
    """A folder in which the account that runs the agent may do anything."""
    if engine.ground is None:
        return tmp_path
    folder = Path(tempfile.mkdtemp(dir=engine.ground))
    os.chown(folder, engine.uid, engine.uid)
    return folder


@pytest.fixture
def begin(start_agent: StartAgent, engine: EnginePart, ground: Path) -> Callable[..., Agent]:
    """An agent with that engine; called again, the next one on the same root."""
    return lambda **env: start_agent(ground / "root", around=engine.around, **engine.env, **env)


@pytest.fixture
def agent(begin: Callable[..., Agent]) -> Agent:
    return begin()


def as_found(agent: Agent, engine: EnginePart) -> Engine:
    """As the agent finds it here."""
    found = next(one for one in agent.ask("engines")["engines"] if one["name"] == engine.name)
    return Engine(**{key: value for key, value in found.items() if key not in ("version", "lacking")})


def start(
    agent: Agent, engine: EnginePart, task: str, script: str, *, secrets: Any = None, **more: Any
) -> ContainerLaunch:
    hello = agent.ask("hello")
    content = ContainerTask(task_id=task, **{"image": IMAGE, "argv": ("sh", "-c", script), **more})
    place = TaskFolder(f"{hello['root']}/tasks/{task}", hello["uid"], hello["gid"])
    ready = container_launch(as_found(agent, engine), content, place)
    agent.launch(
        task,
        *ready.argv,
        env=dict(ready.env),
        files=dict(ready.files),
        container={
            "program": engine.program,
            "name": ready.name,
            "registry": None if ready.registry is None else b64encode(ready.registry).decode(),
        },
        secrets=secrets,
        stdin=content.stdin,
        tty=content.tty,
    )
    return ready


def work(agent: Agent, task: str) -> Path:
    return agent.root / "tasks" / task / "work"


def started(agent: Agent, task: str) -> None:
    wait_until((work(agent, task) / "ready").exists, "the program in the container")


def made_with(engine: EnginePart, image: str, *changes: str) -> None:
    engine.call("create", "--name", "draft", IMAGE, "true")
    made = engine.call("commit", *(word for change in changes for word in ("--change", change)), "draft", image)
    engine.call("rm", "draft")
    assert made.returncode == 0, made.stderr


def test_exit_code_and_output_are_the_programs_own(agent: Agent, engine: EnginePart) -> None:
    start(agent, engine, "t", "echo out; echo err >&2; exit 7")
    assert agent.wait_phase("t", "ended")["exit_code"] == 7
    assert agent.log("t") == b"out\nerr\n"
    assert engine.names() == set()


def test_the_entry_point_of_the_image_runs_where_the_image_says(agent: Agent, engine: EnginePart) -> None:
    built, changes = (
        "localhost/muster-entry:1",
        ("WORKDIR /etc", 'ENTRYPOINT ["sh", "-c", "pwd; echo $0 $WORD; exit 5"]'),
    )
    made_with(engine, built, *changes, 'CMD ["and its argument"]')
    start(agent, engine, "t", "", image=built, argv=(), env={"WORD": "here"}, workdir="image")
    assert agent.wait_phase("t", "ended")["exit_code"] == 5
    assert agent.log("t").decode() == "/etc\nand its argument here\n"


@pytest.mark.parametrize(("workdir", "expected"), [("image", "/etc"), ("/tmp", "/tmp")])
def test_a_command_starts_where_the_runtime_says_and_so_does_whoever_enters(
    agent: Agent, engine: EnginePart, workdir: str, expected: str
) -> None:
    built = "localhost/muster-workdir:1"
    made_with(engine, built, "WORKDIR /etc")
    script = 'pwd; echo "$MUSTER_TASK_DIR"; touch "$MUSTER_TASK_DIR/work/ready"; exec sleep 1000'
    start(agent, engine, "t", script, image=built, workdir=workdir)
    started(agent, "t")
    assert in_task(agent, "pwd") == (f"{expected}\n", 0)
    agent.ask("stop", task="t", grace_s=0)
    agent.wait_phase("t", "ended")
    assert agent.log("t").decode() == f"{expected}\n{agent.root}/tasks/t\n"
    wait_until(lambda: engine.names() == set(), "the container to be removed")


def test_a_container_that_starts_where_its_image_says_has_the_home_of_the_image(
    agent: Agent, engine: EnginePart
) -> None:
    start(agent, engine, "t", 'echo "$HOME"', workdir="image")
    assert agent.wait_phase("t", "ended")["exit_code"] == 0
    assert str(agent.root) not in agent.log("t").decode()


@pytest.mark.parametrize("cmd", [(), ('CMD ["replaced"]',)], ids=["none", "some"])
def test_arguments_alone_go_to_the_entry_point_of_the_image(
    agent: Agent, engine: EnginePart, cmd: tuple[str, ...]
) -> None:
    built = f"localhost/muster-arguments-{len(cmd)}:1"
    made_with(
        engine, built, "WORKDIR /etc", 'ENTRYPOINT ["sh", "-c", "pwd; echo out $0 $1; echo err >&2; exit 5"]', *cmd
    )
    start(agent, engine, "t", "", image=built, argv=(), args=("a b", "--lr=1"), workdir="image")
    assert agent.wait_phase("t", "ended")["exit_code"] == 5
    assert agent.log("t").decode() == "/etc\nout a b --lr=1\nerr\n"
    assert engine.names() == set()


def test_variables_come_as_they_are_and_stay_out_of_arguments_and_files(agent: Agent, engine: EnginePart) -> None:
    env = {"PLAIN": "a b 'c' \"d\" $e", "LINES": "one\ntwo", "QUOTED": '"as is"', "EMPTY": "", "SECRET": "hunter2"}
    begun = start(
        agent, engine, "t", 'echo "$PLAIN|$LINES|$QUOTED|$EMPTY|$SECRET|$HOME|$PWD|$MUSTER_TASK_DIR"', env=env
    )
    assert agent.wait_phase("t", "ended")["exit_code"] == 0
    folder = agent.root / "tasks" / "t"
    assert agent.log("t").decode() == (
        f'a b \'c\' "d" $e|one\ntwo|"as is"||hunter2|{folder}/work|{folder}/work|{folder}\n'
    )
    assert not any("hunter2" in word for word in begun.argv)
    wait_until(lambda: not (folder / ENV_FILE).exists(), "the variables to be removed")
    assert not any(
        b"hunter2" in path.read_bytes() for path in folder.iterdir() if path.is_file() and path.name != "log"
    )


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[Registry]:
    pack_image(tmp_path / "private.tar")
    with private_registry(tmp_path / "private.tar") as found:
        yield found


@pytest.fixture
def puller(begin: Callable[..., Agent], registry: Registry, ground: Path) -> Agent:
    """An agent whose engine pulls from the registry without TLS."""
    settings = ground / "registries.conf"
    settings.write_text(f'[[registry]]\nlocation = "{registry.address}"\ninsecure = true\n')
    settings.chmod(0o644)
    return begin(CONTAINERS_REGISTRIES_CONF=str(settings))


def test_a_private_image_is_pulled_with_a_login_that_is_gone_before_the_program_starts(
    puller: Agent, engine: EnginePart, registry: Registry
) -> None:
    script = 'pwd; ls "$MUSTER_TASK_DIR"'
    begun = start(puller, engine, "t", script, image=registry.image, registry=registry.login, workdir="image")
    assert puller.wait_phase("t", "ended")["exit_code"] == 0, puller.log("t").decode()
    said = puller.log("t").decode()
    assert said.startswith("/etc\n")
    assert "registry" not in said
    folder = puller.root / "tasks" / "t"
    assert not any(PASSWORD in word for word in begun.argv)
    assert not any(PASSWORD.encode() in path.read_bytes() for path in folder.rglob("*") if path.is_file())
    engine.call("rmi", "--force", registry.image)


@pytest.mark.parametrize(
    "login", [None, b'{"auths": {"elsewhere.example.org": {"auth": "YTpi"}}}'], ids=["none", "other"]
)
def test_an_image_that_is_refused_for_lack_of_a_login_says_so(
    puller: Agent, engine: EnginePart, registry: Registry, login: bytes | None
) -> None:
    start(puller, engine, "t", "true", image=registry.image, registry=login)
    assert puller.wait_phase("t", "ended")["exit_code"] == ENGINE_FAILED
    failed = engine_failure(ENGINE_FAILED, puller.log("t").decode().splitlines())
    assert failed is not None
    assert failed[0] == DENIED, failed
    assert not (puller.root / "tasks" / "t" / "registry").exists()


def test_a_login_does_not_outlive_a_task_that_was_killed_while_it_pulled(
    puller: Agent, engine: EnginePart, registry: Registry
) -> None:
    start(puller, engine, "t", "sleep 1000", image=registry.image, registry=registry.login)
    puller.ask("stop", task="t", grace_s=0)
    puller.wait_phase("t", "ended")
    wait_until(lambda: not (puller.root / "tasks" / "t" / "registry").exists(), "the login to be removed")
    wait_until(lambda: engine.names() == set(), "the container to be removed")
    engine.call("rmi", "--force", registry.image)


def test_secrets_are_files_that_the_program_reads_and_are_masked_in_its_log(agent: Agent, engine: EnginePart) -> None:
    value = b64encode(b"hunter2").decode()
    secrets = {"files": {"a/key": value}, "masked": [value]}
    env = {"KEY": "hunter2", "MUSTER_SECRETS": f"{agent.root}/tasks/t/secrets"}
    start(agent, engine, "t", 'cat "$MUSTER_SECRETS/a/key"; echo " $KEY"', secrets=secrets, env=env)
    assert agent.wait_phase("t", "ended")["exit_code"] == 0
    folder = agent.root / "tasks" / "t"
    wait_until(lambda: not (folder / "masked").exists(), "the log to be masked")
    assert agent.log("t") == b"******* *******\n"
    wait_until(lambda: not (folder / ENV_FILE).exists(), "the variables to be removed")
    assert not any(b"hunter2" in path.read_bytes() for path in folder.rglob("*") if path.is_file())
    assert not (folder / "secrets").exists()


def test_mounts_show_what_they_should_and_read_only_ones_cannot_be_written(
    agent: Agent, engine: EnginePart, ground: Path
) -> None:
    for name in ("read", "write"):
        (ground / name).mkdir()
        (ground / name / "file").write_text(name)
        os.chown(ground / name, engine.uid, engine.uid)
    mounts = (
        Mount(str(ground / "read"), "/data", read_only=True),
        Mount(str(ground / "write"), "/models"),
    )
    start(agent, engine, "t", "cat /data/file /models/file; touch /models/new; touch /data/new", mounts=mounts)
    assert agent.wait_phase("t", "ended")["exit_code"] != 0
    assert agent.log("t").startswith(b"readwrite")
    assert (ground / "write" / "new").stat().st_uid == engine.uid
    assert not (ground / "read" / "new").exists()


MIXED = "for n in 0 1 2 3 4 5 6 7 8 9; do echo out$n; echo err$n >&2; done"
IN_ORDER = "".join(f"out{n}\nerr{n}\n" for n in range(10)).encode()


def test_output_and_errors_are_in_the_order_in_which_they_were_written(agent: Agent, engine: EnginePart) -> None:
    for number in range(5):
        start(agent, engine, f"shell-{number}", MIXED)
        start(agent, engine, f"program-{number}", "", argv=("env", "sh", "-c", MIXED))
        start(agent, engine, f"variable-{number}", MIXED, env={"LINES": "a\nb"})
    tasks = [f"{kind}-{number}" for kind in ("shell", "program", "variable") for number in range(5)]
    for task in tasks:
        assert agent.wait_phase(task, "ended")["exit_code"] == 0, agent.log(task)
    assert [agent.log(task) for task in tasks] == [IN_ORDER] * len(tasks)
    assert engine.names() == set()


def test_the_output_of_an_entry_point_is_in_order(agent: Agent, engine: EnginePart) -> None:
    images = {
        "one": (["/bin/sh", "-c", f'printf "[%s]" "$@"; echo; {MIXED}', "sh"], ["a b", "", "$HOME *", "c"]),
        "lines": (["/bin/sh", "-c", "echo a; echo b >/dev/null\necho c"], []),
    }
    for name, (entry_point, command) in images.items():
        made_with(
            engine,
            f"localhost/muster-{name}:1",
            f"ENTRYPOINT {json.dumps(entry_point)}",
            f"CMD {json.dumps(command)}",
        )
        start(agent, engine, name, "", image=f"localhost/muster-{name}:1", argv=())
    assert agent.wait_phase("one", "ended")["exit_code"] == 0, agent.log("one")
    assert agent.log("one") == b"[a b][][$HOME *][c]\n" + IN_ORDER
    assert agent.wait_phase("lines", "ended")["exit_code"] == 0
    assert agent.log("lines") == b"a\nc\n"
    assert engine.names() == set()


def test_an_image_without_a_shell_runs_all_the_same(agent: Agent, engine: EnginePart, ground: Path) -> None:
    pack_image(ground / "bare.tar", applets=())
    made = engine.call("import", str(ground / "bare.tar"), "localhost/muster-bare:1")
    assert made.returncode == 0, made.stderr
    start(agent, engine, "t", "", image="localhost/muster-bare:1", argv=("/bin/busybox", "echo", "a b"))
    assert agent.wait_phase("t", "ended")["exit_code"] == 0, agent.log("t")
    assert agent.log("t") == b"a b\n"
    assert engine.names() == set()


def test_term_reaches_the_program(agent: Agent, engine: EnginePart) -> None:
    start(agent, engine, "t", "trap 'echo told; exit 5' TERM; touch ready; while :; do sleep 0.05; done")
    started(agent, "t")
    agent.ask("stop", task="t", grace_s=30)
    ended = agent.wait_phase("t", "ended")
    assert (ended["exit_code"], ended["stopped"]) == (5, True)
    assert agent.log("t") == b"told\n"
    assert engine.names() == set()


def test_program_that_ignores_term_is_killed_and_nothing_is_left(agent: Agent, engine: EnginePart) -> None:
    start(agent, engine, "t", "trap '' TERM; touch ready; while :; do sleep 0.05; done")
    started(agent, "t")
    agent.ask("stop", task="t", grace_s=0.2)
    assert agent.wait_phase("t", "ended")["stopped"]
    wait_until(lambda: not engine.names(), "the container to be gone")
    wait_until(lambda: not processes_of(agent, "t"), "its processes to be gone")


def test_killing_the_engines_client_does_not_leave_the_container(agent: Agent, engine: EnginePart) -> None:
    begun = start(agent, engine, "t", "touch ready; while :; do sleep 0.05; done")
    started(agent, "t")
    assert engine.names() == {begun.name}
    client = next(pid for pid in processes_of(agent, "t") if command(pid) == [engine.name, "run"])
    os.kill(client, signal.SIGKILL)
    assert agent.wait_phase("t", "ended")["exit_code"] == 137
    wait_until(lambda: not engine.names(), "the container to be gone")
    wait_until(lambda: not processes_of(agent, "t"), "its processes to be gone")


def test_agent_that_comes_later_removes_what_is_left(begin: Callable[..., Agent], engine: EnginePart) -> None:
    first = begin()
    start(first, engine, "t", "touch ready; while :; do sleep 0.05; done")
    started(first, "t")
    first.kill()
    record = read_started(str(first.root / "tasks/t"))
    assert record is not None
    assert record.shim is not None
    os.kill(record.shim.pid, signal.SIGKILL)
    second = begin()
    assert second.status("t")["phase"] == "lost"
    wait_until(lambda: not engine.names(), "the container to be gone")
    wait_until(lambda: not processes_of(second, "t"), "its processes to be gone")


def test_container_outlives_the_agent_and_ends_with_its_own_code(
    begin: Callable[..., Agent], engine: EnginePart
) -> None:
    script = "echo begun >> begun; touch ready; while [ ! -e go ]; do sleep 0.05; done; exit 9"
    first = begin()
    start(first, engine, "t", script)
    started(first, "t")
    first.kill()
    second = begin()
    start(second, engine, "t", script)  # a server that had no answer asks again
    second.ask("usage", every_s=0.1)
    second.read_until(lambda: bool(used_so_far(second)), "a sample of the container")
    (work(second, "t") / "go").touch()
    wait_until(lambda: second.status("t")["phase"] == "ended", "the task's end")
    assert second.status("t")["exit_code"] == 9
    assert second.status("t")["used"]["memory_peak_bytes"] > 0
    assert (work(second, "t") / "begun").read_text() == "begun\n"
    wait_until(lambda: not engine.names(), "the container to be gone")


def test_stop_that_one_agent_began_the_next_one_finishes(begin: Callable[..., Agent], engine: EnginePart) -> None:
    first = begin()
    start(first, engine, "t", "trap '' TERM; touch ready; while :; do sleep 0.05; done")
    started(first, "t")
    first.ask("stop", task="t", grace_s=1.0)
    first.kill()
    second = begin()
    wait_until(lambda: second.status("t")["phase"] == "ended", "the task's end")
    assert second.status("t")["stopped"]
    wait_until(lambda: not engine.names(), "the container to be gone")
    wait_until(lambda: not processes_of(second, "t"), "its processes to be gone")


def test_machine_that_fell_leaves_no_container_and_runs_nothing_twice(start_agent: StartAgent) -> None:
    base = Path(tempfile.mkdtemp(prefix="muster-podman-"))
    try:
        podman = private_podman(base)
    except EngineMissing as missing:
        shutil.rmtree(base, ignore_errors=True)
        pytest.skip(str(missing))
    container = ""
    try:
        first = start_agent(None, around=a_boot(base), **podman.env)
        begun = start(first, podman, "t", "echo begun >> begun; touch ready; while :; do sleep 0.05; done")
        started(first, "t")
        container = calls_there(first.process.pid, podman, "ps", "--quiet", "--no-trunc")
        first.kill()
        wait_until(lambda: not processes_of(first, "t"), "the machine to be down")
        second = start_agent(None, around=a_boot(base), **podman.env)
        assert second.status("t")["phase"] == "lost"
        assert second.launch("t", "true")["phase"] == "lost"
        wait_until(lambda: not (second.root / "tasks/t" / ENV_FILE).exists(), "the container to be removed")
        assert begun.name not in calls_there(second.process.pid, podman, "ps", "--all", "--format", "{{.Names}}")
        assert (work(second, "t") / "begun").read_text() == "begun\n"
        second.kill()
    finally:
        if container:
            remove_groups(container)
        remove(podman, base)


def test_pretended_cards_ask_nothing_of_the_engine(begin: Callable[..., Agent], engine: EnginePart) -> None:
    """Without a description of the cards (CDI) an engine would refuse them, and with them the task."""
    agent = begin(MUSTER_FAKE_GPUS="2xT4")
    agent.ask("hello")
    assert as_found(agent, engine).gpus == "pretended"
    start(agent, engine, "t", 'echo "$CUDA_VISIBLE_DEVICES"', devices=(1,), env={"CUDA_VISIBLE_DEVICES": "1"})
    assert agent.wait_phase("t", "ended")["exit_code"] == 0
    assert agent.log("t") == b"1\n"


def test_container_that_needs_too_much_memory_says_so(agent: Agent, engine: EnginePart) -> None:
    found = as_found(agent, engine)
    if not found.limits:
        pytest.skip(f"{engine.name} holds no limits here")
    start(agent, engine, "t", "x=a; while :; do x=$x$x; done", memory_bytes=64 << 20, cpu_m=500)
    ended = agent.wait_phase("t", "ended")
    assert ended["exit_code"] == 137
    wait_until(lambda: not engine.names(), "the container to be gone")
    if engine.name == "podman" and not Path("/sys/fs/cgroup/cgroup.controllers").exists():
        pytest.skip("with control groups of version 1 podman does not find out why a container was killed")
    assert ended["oom"]


def test_want_of_memory_is_still_known_to_the_next_agent(start_agent: StartAgent, docker: Docker) -> None:
    first = start_agent(None, **docker.engine.env)
    if not as_found(first, docker.engine).limits:
        pytest.skip("docker holds no limits here")
    start(first, docker.engine, "t", "touch ready; x=a; while :; do x=$x$x; done", memory_bytes=64 << 20)
    first.kill()
    second = start_agent(None, **docker.engine.env)
    wait_until(lambda: second.status("t")["phase"] == "ended", "the task's end")
    assert second.status("t")["oom"]


def used_so_far(agent: Agent) -> list[dict[str, Any]]:
    """What samples of the container say about the task's memory, among other things."""
    samples = [event["tasks"].get("t") for event in agent.events if event["event"] == "usage"]
    return [sample["used"] for sample in samples if sample and sample["used"]["memory_peak_bytes"]]


def test_cpu_and_memory_of_the_program_are_known_while_it_runs_and_at_its_end(agent: Agent, engine: EnginePart) -> None:
    grown = "x=a; while [ ${#x} -lt 33554432 ]; do x=$x$x; done"
    agent.ask("usage", every_s=0.1)
    start(agent, engine, "t", f"{grown}; touch ready; while [ ! -e go ]; do sleep 0.05; done; echo ${{#x}}")
    started(agent, "t")
    agent.read_until(lambda: any(used["memory_peak_bytes"] >= 32 << 20 for used in used_so_far(agent)), "its memory")
    running = used_so_far(agent)[-1]
    (work(agent, "t") / "go").touch()
    ended = agent.wait_phase("t", "ended")
    assert (ended["exit_code"], agent.log("t")) == (0, b"33554432\n")
    assert ended["used"]["is_final"]
    assert 0 < running["cpu_s"] <= ended["used"]["cpu_s"] < 60
    assert running["memory_peak_bytes"] <= ended["used"]["memory_peak_bytes"] < 400 << 20


def test_bad_end_with_memory_to_spare_is_no_want_of_memory(agent: Agent, engine: EnginePart) -> None:
    start(agent, engine, "t", "kill -9 $$", memory_bytes=64 << 20)
    ended = agent.wait_phase("t", "ended")
    assert (ended["exit_code"], ended["oom"]) == (137, False)


def test_program_cannot_have_other_files_overwritten_by_a_link(agent: Agent, engine: EnginePart, ground: Path) -> None:
    precious = ground / "precious"
    precious.write_text("as it was")
    script = f'ln -s {precious} "$MUSTER_TASK_DIR/{STATE_FILE}"; exit 3'
    os.chown(precious, engine.uid, engine.uid)
    start(agent, engine, "t", f"busybox {script}")
    assert agent.wait_phase("t", "ended")["exit_code"] == 3
    assert precious.read_text() == "as it was"


def running_container(docker: Docker) -> str:
    """Its id. A program may run before docker says so."""
    return docker.engine.call("ps", "--quiet", "--no-trunc").stdout.strip()


def test_container_of_an_engine_that_fell_is_removed_when_it_is_back(start_agent: StartAgent, docker: Docker) -> None:
    agent = start_agent(None, **docker.engine.env)
    start(agent, docker.engine, "t", "touch ready; while :; do sleep 0.05; done")
    started(agent, "t")
    wait_until(lambda: running_container(docker), "docker to know that the container runs")
    container = running_container(docker)
    docker.kill()
    try:
        assert agent.wait_phase("t", "ended")["exit_code"] != 0
        wait_until(lambda: not processes_of(agent, "t"), "its processes to be gone")
    finally:
        docker.start()
        remove_groups(container)  # docker forgets those of containers that ended while it was away
    wait_until(lambda: not docker.engine.names(), "the container to be gone")
    wait_until(lambda: not (agent.root / "tasks/t" / ENV_FILE).exists(), "the agent to have done with it")


def processes_of(agent: Agent, task: str) -> list[int]:
    """All that carry the task's mark."""
    mark = f"MUSTER_TASK_DIR={agent.root / 'tasks' / task}".encode()
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if mark in (entry / "environ").read_bytes().split(b"\0"):
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


def command(pid: int) -> list[str]:
    """The name of its program and its first argument."""
    words = Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")
    return [words[0].rsplit("/", 1)[-1], *words[1:2]]


def test_a_command_in_a_container_is_like_its_program_and_leaves_nothing(agent: Agent, engine: EnginePart) -> None:
    env = {"PLAIN": "a b", "LINES": "one\ntwo"}
    start(agent, engine, "t", "touch ready; exec sleep 1000", env=env)
    started(agent, "t")
    said, code = in_task(agent, "sh", "-c", 'echo "$PLAIN|$LINES|$PWD|$MUSTER_TASK_UID"; exit 7')
    assert (said, code) == (f"a b|one\ntwo|{work(agent, 't')}|t\n", 7)
    if engine.ground is None:  # the machine of the rootless engine has no terminals
        said, code = in_task(agent, "sh", "-c", "test -t 0 && test -t 1", terminal={"rows": 21, "columns": 77})
        assert code == 0, said
    argv = ["sh", "-c", "setsid sleep 65432 & touch began; sleep 65432"]
    name = agent.ask("exec_in_task", task="t", argv=argv, terminal=None)["exec"]
    wait_until((work(agent, "t") / "began").exists, "the command")
    wait_until(lambda: sleepers("65432"), "what it started")
    agent.ask("exec_stop", exec=name)
    wait_until(lambda: not sleepers("65432"), "all of it to be gone")
    agent.ask("stop", task="t", grace_s=0)
    agent.wait_phase("t", "ended")
    wait_until(lambda: engine.names() == set(), "the container to be removed")


def in_task(agent: Agent, *argv: str, terminal: dict[str, int] | None = None) -> tuple[str, int]:
    name = agent.ask("exec_in_task", task="t", argv=list(argv), terminal=terminal)["exec"]
    said = b""
    while True:
        answer = agent.ask("exec_read", exec=name)
        said += b"".join(b64decode(piece["data"]) for piece in answer["output"])
        if answer["ended"]:
            return said.decode(), answer["exit_code"]


@pytest.mark.parametrize("has_terminal", [True, False])
def test_a_container_is_attached_to(agent: Agent, engine: EnginePart, has_terminal: bool) -> None:
    if has_terminal and engine.ground is not None:
        pytest.skip("the machine of the rootless engine has no terminals")
    script = f"touch ready; exec sh {'-i' if has_terminal else ''}"
    start(agent, engine, "t", script, stdin=True, tty=has_terminal)
    started(agent, "t")
    size = {"rows": 21, "columns": 77} if has_terminal else None
    name = agent.ask("attach", task="t", terminal=size, tail=None)["exec"]
    asked = b"test -t 0; echo at-$((40+$?))\n"
    agent.ask("exec_write", exec=name, data=asked, last=False)
    said, wanted = b"", b"at-40" if has_terminal else b"at-41"
    while wanted not in said:
        answer = agent.ask("exec_read", exec=name)
        said += b"".join(b64decode(piece["data"]) for piece in answer["output"])
        assert not answer["ended"], said
    agent.ask("exec_write", exec=name, data=b"exit 6\n", last=False)
    while not answer["ended"]:
        answer = agent.ask("exec_read", exec=name)
    assert answer["exit_code"] == 6
    assert wanted in agent.log("t")
    wait_until(lambda: engine.names() == set(), "the container to be removed")


def sleepers(seconds: str) -> list[int]:
    found = []
    for process in Path("/proc").iterdir():
        try:
            if process.name.isdigit() and process.joinpath("cmdline").read_bytes() == f"sleep\0{seconds}\0".encode():
                found.append(int(process.name))
        except OSError:
            continue
    return found
