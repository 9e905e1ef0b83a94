"""Two plain users whose tasks run in containers: of a rootless engine of the agent's account, and of one of root's.

The containers see the programs of this machine, because their image has too few for the attacks.
"""

import json
import os
import secrets
import shlex
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from muster.domain.specs import Mount
from muster.launch.containers import ContainerTask, Engine, TaskFolder, container_launch
from tests.integration.agent_process.driver import Agent, wait_until
from tests.parts.engines import IMAGE, EngineMissing, EnginePart
from tests.parts.local_cluster import serving_containers
from tests.parts.rootless import remove as remove_rootless
from tests.parts.rootless import rootless_podman
from tests.parts.server import MusterServer, polls
from tests.security.isolation.attacks import (
    DEVICES,
    FILES,
    PROCESSES,
    SECRET,
    SOCKETS,
    attack_script,
    attempts_in,
    is_expected,
    victim_program,
)
from tests.security.isolation.conftest import Person, people
from tests.security.isolation.scene import isolation, system_python

MODE = "container"
PROGRAMS = {"/usr": "/usr", "/usr/lib": "/lib"}
PATH = {"PATH": "/usr/bin:/bin"}
OWN_COPIES = {"changes the system"}
"""A container has a system of its own, in which it may do what it likes."""
CELLS = {name: cell for name, cell in (FILES | PROCESSES | SOCKETS | DEVICES).items() if name not in OWN_COPIES}


@pytest.fixture
def rootless() -> Iterator[EnginePart]:
    base = Path(tempfile.mkdtemp(prefix="muster-rootless-", dir="/tmp"))
    try:
        yield rootless_podman(base)
    except EngineMissing as missing:
        pytest.skip(str(missing))
    finally:
        remove_rootless(base)


def test_tasks_in_rootless_containers_do_not_reach_each_other(rootless: EnginePart) -> None:
    """All containers belong to the agent's account; namespaces keep them apart."""
    assert rootless.ground is not None
    private = rootless.ground / "private"
    private.write_text("token")
    private.chmod(0o600)
    os.chown(private, rootless.uid, rootless.uid)
    agent = Agent([*rootless.around, system_python(), "-m", "muster.agent"], rootless.ground / "node", rootless.env)
    try:
        tag = f"muster-{secrets.token_hex(8)}"
        victim = f"SECRET={SECRET} exec /usr/bin/python3 -c {shlex.quote(victim_program(tag))}"
        start(agent, rootless, "victim", victim)
        wait_until(lambda: SECRET.encode() in agent.log("victim"), "the victim to be at work")
        words = {
            "pid": program_with(tag),
            "agent": agent.process.pid,
            "victim": agent.root / "tasks/victim",
            "root": agent.root,
            "server_file": private,
            "tag": tag,
        }
        cells = {name: cell for name, cell in CELLS.items() if "an input" not in name}
        forge = 'echo 0 > "$MUSTER_TASK_DIR/exit.forged" && echo forged; touch "$MUSTER_TASK_DIR/checkpoint"; exit 5'
        start(agent, rootless, "attacker", f"{attack_script(cells, words)}\n{forge}")
        ended = agent.wait_phase("attacker", "ended")
        log = agent.log("attacker").decode()
        found = attempts_in(log, cells)
        assert {
            name: found[name].said for name, cell in cells.items() if not is_expected(found[name], cell, MODE)
        } == {}
        assert (ended["exit_code"], ended["checkpoint_at"] is not None, "forged\n" in log) == (5, True, False)
        agent.ask("stop", task="victim", grace_s=0)
        agent.wait_phase("victim", "ended")
    finally:
        agent.close()


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[MusterServer]:
    """A server whose local cluster has containers of an engine of root's."""
    with serving_containers(tmp_path / "home") as server:
        yield server


def test_two_plain_users_run_jobs_in_containers_and_do_not_reach_each_other(lab: MusterServer) -> None:
    alice, mallory = people(lab, "alice", "mallory")
    folders = {name.strip("/").replace("/", "-"): {"path": name, "readOnly": True} for name in PROGRAMS}
    configure(lab, folders=folders)
    problem = submitted(mallory, 422)
    assert problem["problems"][0]["path"] == "runtime.image"
    configure(lab, folders=folders, image=IMAGE)
    job = submitted(mallory, 201)["id"]
    assert lab.wait(job)["state"] == "Succeeded"
    uid, *top = mallory.log(job).split()
    assert int(uid) >= 1000
    assert "usr" not in top  # it is the root of the image
    attack(lab, alice, mallory)


def attack(lab: MusterServer, alice: Person, mallory: Person) -> None:
    tag = f"muster-{secrets.token_hex(8)}"
    mounts = [{"source": source, "target": target, "readOnly": True} for source, target in PROGRAMS.items()]
    there: dict[str, Any] = {"mounts": mounts, "env": PATH, "runtime": {"image": IMAGE}}
    there["inputs"] = [{"source": alice.upload("data.txt", b"clean\n"), "target": "in"}]
    mallory.upload("data.txt", b"clean\n")
    job = alice.submit(f"SECRET={SECRET} exec /usr/bin/python3 -c {shlex.quote(victim_program(tag))}", **there)
    for _ in polls(60):
        if SECRET in alice.log(job):
            break
    root = lab.home / "node"
    words = {
        "pid": program_with(tag),
        "agent": lab.pid,
        "victim": root / "tasks" / f"{job}.1.worker.0",
        "root": root,
        "server_file": lab.home / "context.json",
        "tag": tag,
    }
    reached = mallory.run(attack_script(CELLS, words), **there)
    found = attempts_in(reached.log, CELLS)
    assert {name: found[name].said for name, cell in CELLS.items() if not is_expected(found[name], cell, MODE)} == {}
    lab.call("POST", f"/api/v1/jobs/{job}/kill", {"grace": "0s"}, token=alice.token)
    assert lab.wait(job)["state"] == "Cancelled"


def configure(lab: MusterServer, **settings: Any) -> None:
    written = {"backend": "local", "isolation": MODE, **settings}
    (lab.home / "clusters.d/local.yaml").write_text(json.dumps(written))


def submitted(person: Person, expected: int, spec: dict[str, Any] | None = None) -> Any:
    """The answer to a job, or to one without an image, as soon as the server follows the cluster file."""
    spec = spec or {"name": "x", "command": "id -u; ls /"}
    for _ in polls(30):
        status, answer = person.server.call("POST", "/api/v1/jobs", {"spec": spec}, token=person.token)
        if status == expected:
            return answer
    raise AssertionError(f"the server answers {status}: {answer}")


def start(agent: Agent, engine: EnginePart, task: str, script: str) -> None:
    """As the server would start a task of a user in a container."""
    hello = agent.ask("hello")
    found = next(one for one in agent.ask("engines")["engines"] if one["name"] == engine.name)
    known = Engine(**{key: value for key, value in found.items() if key not in ("version", "lacking")})
    mounts = tuple(Mount(source, target, read_only=True) for source, target in PROGRAMS.items())
    content = ContainerTask(task, IMAGE, ("sh", "-c", script), PATH, mounts, private_shm_bytes=1 << 26)
    ready = container_launch(known, content, TaskFolder(f"{agent.root}/tasks/{task}", hello["uid"], hello["gid"]))
    agent.launch(
        task,
        *ready.argv,
        env=dict(ready.env),
        files=dict(ready.files),
        container={"program": engine.program, "name": ready.name},
        isolation=isolation("none", "eve"),
    )


def program_with(tag: str) -> int:
    """The newest process that names the tag: the victim's program, and not what started it."""
    found = subprocess.run(["pgrep", "--newest", "--full", tag], check=True, capture_output=True, text=True)
    return int(found.stdout)


def test_tasks_in_containers_reach_each_other_by_ssh(lab: MusterServer) -> None:
    (alice,) = people(lab, "alice")
    folders = {name.strip("/").replace("/", "-"): {"path": name, "readOnly": True} for name in PROGRAMS}
    configure(lab, folders=folders, image=IMAGE)
    mounts = [{"source": source, "target": target, "readOnly": True} for source, target in PROGRAMS.items()]
    roles = {
        "master": {"command": "ssh worker-0 'echo $MUSTER_TASK_NAME; ls -d /usr/bin/env'", "minSucceeded": 1},
        "worker": {"command": "sleep 600"},
    }
    spec = {"name": "pair", "ssh": True, "mounts": mounts, "env": PATH, "runtime": {"image": IMAGE}, "roles": roles}
    job = submitted(alice, 201, spec)
    state = lab.wait(job["id"])["state"]
    _, log = lab.call("GET", f"/api/v1/jobs/{job['id']}/logs/raw?task=master-0", token=alice.token)
    assert (state, log) == ("Succeeded", "pair-worker-0\n/usr/bin/env\n")


def test_a_container_whose_image_has_no_sshd_says_so(lab: MusterServer) -> None:
    spec = {"name": "bare", "ssh": True, "runtime": {"image": IMAGE}, "command": "true"}
    _, job = lab.call("POST", "/api/v1/jobs", {"spec": spec})
    assert lab.wait(job["id"])["state"] == "Failed"
    assert "install openssh-server on the node, or in the image" in lab.run("explain", "bare").stdout
