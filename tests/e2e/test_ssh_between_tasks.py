"""Jobs with `ssh: true`: their tasks reach each other by name with a key of the job, and nobody else gets in."""

import json
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.parts.local_cluster import configure_local
from tests.parts.server import MusterServer, polls, running_server
from tests.security.isolation.conftest import Person, people

SSHD = Path("/usr/sbin/sshd")
pytestmark = pytest.mark.skipif(not SSHD.exists(), reason="OpenSSH's server is not installed")
ASK = "ssh worker-0 'echo \"$MUSTER_TASK_NAME in ${PWD##*/} sees $WORD\"'"
ANSWER = 'pair-worker-0 in work sees it\'s "quoted"\nhere\n'
HOLD = "echo $MUSTER_SSH_PORT; echo $MUSTER_TASK_DIR; sleep 600"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MusterServer]:
    with running_server(tmp_path_factory.mktemp("ssh") / "home") as running:
        yield running


@pytest.fixture(scope="module")
def users(server: MusterServer) -> tuple[Person, Person]:
    alice, mallory = people(server, "alice", "mallory")
    return alice, mallory


def pair(command: str = ASK, **more: Any) -> dict[str, Any]:
    """The command runs in a master, with whose end the job has ended, too."""
    roles = {"master": {"command": command, "minSucceeded": 1}, "worker": {"command": "sleep 600"}}
    return {"name": "pair", "env": {"WORD": 'it\'s "quoted"\nhere'}, "roles": roles, "ssh": True, **more}


def submitted(person: Person, spec: dict[str, Any]) -> str:
    status, job = person.server.call("POST", "/api/v1/jobs", {"spec": spec}, token=person.token)
    assert status == 201, json.dumps(job)
    return str(job["id"])


def log(person: Person, job_id: str, task: str) -> str:
    _, text = person.server.call("GET", f"/api/v1/jobs/{job_id}/logs/raw?task={task}", token=person.token)
    return str(text or "")


def ended(person: Person, spec: dict[str, Any]) -> tuple[str, dict[str, str]]:
    job_id = submitted(person, spec)
    state = person.server.wait(job_id)["state"]
    return state, {role: log(person, job_id, f"{role}-0") for role in spec["roles"]}


def own(server: MusterServer) -> Person:
    return Person(server, "", server.token)


def held(person: Person, name: str, **more: Any) -> tuple[str, int, Path]:
    """A job that runs with an SSH server until it is killed: its id, the port and the task's folder."""
    job_id = submitted(person, {"name": name, "command": HOLD, "ssh": True, **more})
    for _ in polls(60):
        lines = log(person, job_id, "worker-0").split()
        if len(lines) == 2:
            return job_id, int(lines[0]), Path(lines[1])
    raise AssertionError("the job does not start")


def stopped(person: Person, job_id: str) -> None:
    person.server.call("POST", f"/api/v1/jobs/{job_id}/kill", {"grace": "0s"}, token=person.token)
    assert person.server.wait(job_id)["state"] == "Cancelled"


def login(port: int, key: Path, *words: str, user: str = "root") -> "subprocess.CompletedProcess[str]":
    options = ("BatchMode=yes", "StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null", "IdentitiesOnly=yes")
    given = [word for option in options for word in ("-o", option)]
    return subprocess.run(
        ["ssh", "-F", "/dev/null", *given, "-i", str(key), "-p", str(port), f"{user}@127.0.0.1", *words],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def new_key(folder: Path) -> tuple[Path, str]:
    key = folder / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    return key, key.with_suffix(".pub").read_text().strip()


def test_a_command_over_ssh_runs_in_the_environment_of_the_peers_task(server: MusterServer) -> None:
    state, logs = ended(own(server), pair())
    assert (state, logs["master"]) == ("Succeeded", ANSWER), logs


@pytest.mark.parametrize("mode", ["user", "namespace"])
def test_tasks_of_users_without_an_account_on_the_node_reach_each_other(
    server: MusterServer, users: tuple[Person, Person], mode: str
) -> None:
    configure_local(server, mode)
    state, logs = ended(users[0], pair())
    assert (state, logs["master"]) == ("Succeeded", ANSWER), logs


@pytest.mark.parametrize("mode", ["user", "namespace"])
def test_neither_another_user_nor_another_job_of_the_same_user_gets_in(
    server: MusterServer, users: tuple[Person, Person], mode: str
) -> None:
    alice, mallory = users
    configure_local(server, mode)
    job_id, port, folder = held(alice, f"target-{mode}")
    names = "$(id -un) muster-70000 alice root"
    attack = f"""
    for name in {names}; do
      ssh -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o BatchMode=yes \\
        -i "$MUSTER_TASK_DIR/ssh/key" -p {port} "$name@127.0.0.1" echo broken in 2>&1 | grep -v Warning
    done
    cat {folder}/ssh/key {folder}/secrets/.muster/* {folder}/ssh/environment
    """
    for attacker in (mallory, alice):
        spec = {"name": "attack", "command": attack, "ssh": True}
        other = submitted(attacker, spec)
        server.wait(other)
        said = log(attacker, other, "worker-0")
        assert "broken in" not in said
        assert said.count("Permission denied (publickey)") == 4, said
        assert "PRIVATE KEY" not in said
        if attacker is mallory or mode == "namespace":
            assert "MUSTER_OWNER" not in said
    stopped(alice, job_id)


def test_who_has_an_authorized_key_gets_in_and_nobody_else(server: MusterServer, tmp_path: Path) -> None:
    key, public = new_key(tmp_path)
    (tmp_path / "other").mkdir()
    other, _ = new_key(tmp_path / "other")
    job_id, port, _ = held(own(server), "guests", ssh={"authorizedKeys": [public]})
    assert login(port, key, "echo", "$MUSTER_JOB_NAME").stdout == "guests\n"
    refused = login(port, other, "echo", "in")
    assert (refused.stdout, "Permission denied" in refused.stderr) == ("", True)
    stopped(own(server), job_id)
    assert login(port, key, "true").returncode == 255  # the server has ended with its task


def test_the_keys_of_a_job_are_sealed_private_and_gone_with_it(server: MusterServer) -> None:
    person = own(server)
    job_id, _, folder = held(person, "keys")
    secret = (folder / "secrets/.muster/ssh-key").read_text()
    assert "OPENSSH PRIVATE KEY" in secret
    assert {path.stat().st_mode & 0o077 for path in (folder / "ssh", folder / "ssh/key")} == {0}
    body = secret.splitlines()[1]
    for path in (f"/api/v1/jobs/{job_id}", f"/api/v1/jobs/{job_id}/tasks", "/api/v1/secrets"):
        assert body not in json.dumps(server.call("GET", path)), path
    assert server.call("GET", "/api/v1/secrets")[1]["items"] == []
    assert body not in (folder / "task.json").read_text()
    assert body.encode() not in (server.home / "muster.db").read_bytes()
    assert kept_keys(server, job_id) == 2
    processes = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    assert body not in processes
    stopped(person, job_id)
    assert kept_keys(server, job_id) == 0
    for _ in polls(30):
        if not (folder / "ssh").exists() and not (folder / "secrets").exists():
            return
    raise AssertionError("the keys are still on the node")


def kept_keys(server: MusterServer, job_id: str) -> int:
    with sqlite3.connect(f"file:{server.home / 'muster.db'}?mode=ro", uri=True) as database:
        found = database.execute("SELECT count(*) FROM secrets WHERE owner_id = ?", (f"job:{job_id}",)).fetchone()
        return int(found[0])


def test_a_task_prints_its_key_only_masked(server: MusterServer) -> None:
    person = own(server)
    job_id = submitted(person, {"name": "leak", "command": "cat $MUSTER_SECRETS/.muster/ssh-key", "ssh": True})
    assert server.wait(job_id)["state"] == "Succeeded"
    assert "PRIVATE KEY" not in log(person, job_id, "worker-0")


def test_a_place_without_sshd_fails_at_once_and_says_what_to_install(server: MusterServer) -> None:
    """The task hides the server of the machine from the script."""
    person = own(server)
    command = ["/bin/sh", "-c", '. "$MUSTER_TASK_DIR/ssh.sh"', "sh", "true"]
    inner = " ".join(f"'{word}'" for word in command)
    hide = "unshare --mount sh -c 'mount -t tmpfs none /usr/sbin && exec \"$@\"' sh"
    job_id = submitted(person, {"name": "bare", "command": f"{hide} {inner}", "ssh": True})
    assert server.wait(job_id)["state"] == "Failed"
    said = log(person, job_id, "worker-0")
    assert "there is no sshd: install openssh-server" in said
    explained = server.run("explain", "bare").stdout
    assert "install openssh-server" in explained


@pytest.mark.skipif(shutil.which("mpirun") is None, reason="Open MPI is not installed")
@pytest.mark.parametrize("hosts", ["-H master-0,worker-0", "--hostfile $MUSTER_TASK_DIR/$MUSTER_HOSTFILE"])
def test_mpirun_starts_a_process_in_each_task(server: MusterServer, hosts: str) -> None:
    program = "sh -c 'echo rank $OMPI_COMM_WORLD_RANK in $MUSTER_TASK_NAME'"
    master = f"mpirun --allow-run-as-root --mca plm_rsh_agent ssh {hosts} -n 2 {program}"
    state, logs = ended(own(server), pair(master, name="mpi", framework="mpi"))
    assert state == "Succeeded", logs
    # Open MPI warns of a race between it and its own child.
    said = [line for line in logs["master"].splitlines() if "plm:rsh: Warning: setpgid" not in line]
    assert sorted(said) == ["rank 0 in mpi-master-0", "rank 1 in mpi-worker-0"]


def test_files_are_copied_between_tasks(server: MusterServer) -> None:
    copy = "echo content > file && scp -q file worker-0:got && ssh worker-0 cat got"
    state, logs = ended(own(server), pair(copy))
    assert (state, logs["master"]) == ("Succeeded", "content\n"), logs


def test_other_hosts_are_reached_as_without_it(server: MusterServer) -> None:
    asked = "ssh -G elsewhere.example 2>/dev/null | grep -E '^(hostname|port|stricthostkeychecking|batchmode) '"
    plain = subprocess.run(["sh", "-c", asked], capture_output=True, text=True, check=True).stdout
    assert ended(own(server), pair(asked))[1]["master"] == plain


def test_the_entry_point_of_an_image_cannot_have_it(server: MusterServer) -> None:
    spec = {"name": "x", "runtime": {"image": "busybox"}, "ssh": True}
    status, problem = server.call("POST", "/api/v1/jobs", {"spec": spec})
    assert (status, "is required for a job with ssh" in json.dumps(problem)) == (422, True)


def test_a_key_with_options_is_refused(server: MusterServer) -> None:
    spec = {"name": "x", "command": "true", "ssh": {"authorizedKeys": ['command="sh" ssh-ed25519 AAAA']}}
    status, problem = server.call("POST", "/api/v1/jobs", {"spec": spec})
    assert (status, "ssh.authorizedKeys[0]" in json.dumps(problem)) == (422, True)
