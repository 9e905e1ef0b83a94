"""Every way into a node, and every way in which it must stay shut. The server is real, and so are the hosts."""

import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.integration.api.calling import Caller, ok
from tests.integration.api.people import new_user
from tests.parts.hosts import PLAIN_USER, Host, HostOptions, HostPool, oldest_python
from tests.parts.server import MusterServer, polls
from tests.parts.ssh_cluster import (
    CLUSTER,
    log_of,
    node_of,
    nodes,
    on_hosts,
    wait_for_nodes,
    wait_for_note,
    write_cluster,
)

PASSWORD = "c0rrect horse"
WRONG = "wr0ng h0rse"


@pytest.fixture(scope="module")
def pool(can_make_hosts: None) -> Iterator[HostPool]:
    hosts = [
        HostOptions(),
        HostOptions(user=PLAIN_USER, password=PASSWORD, key_login=False),
        HostOptions(user=PLAIN_USER, python=oldest_python().path),
    ]
    with HostPool(hosts, behind=[HostOptions()]) as made:
        yield made


@pytest.fixture
def server(tmp_path: Path) -> Iterator[MusterServer]:
    """Not started yet; its account has a home of its own, with nothing in it."""
    (tmp_path / "account" / ".ssh").mkdir(parents=True)
    made = MusterServer(tmp_path / "home", {"HOME": str(tmp_path / "account"), "SSH_AUTH_SOCK": ""})
    yield made
    made.stop()


@pytest.fixture
def agent_socket() -> Iterator[Path]:
    """Of an ssh-agent that knows no key yet. The path of a socket may not be long."""
    with tempfile.TemporaryDirectory(prefix="muster-agent-") as folder:
        socket = Path(folder) / "agent"
        with subprocess.Popen(["ssh-agent", "-D", "-a", str(socket)], stdout=subprocess.DEVNULL) as process:
            assert any(socket.exists() for _ in polls(30))
            yield socket
            process.terminate()


def _start(server: MusterServer, *members: dict[str, Any], **more: Any) -> None:
    write_cluster(server.home, members, defaults={"root": ".muster-node"}, **more)
    server.start()


def _account(server: MusterServer) -> Path:
    return server.home.parent / "account" / ".ssh"


def _password_file(server: MusterServer, password: str) -> str:
    path = server.home / "clusters.d" / "password"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(0o600)
    path.write_text(f"{password}\n")
    return str(path)


def _by_password(server: MusterServer, host: Host, password: str) -> dict[str, Any]:
    node = node_of(host, passwordFile=_password_file(server, password))
    del node["keyFile"]
    return node


def _everything_said(server: MusterServer) -> str:
    """Logs of the server, process arguments, listings and events: where a secret must never be."""
    arguments = " ".join(path.read_bytes().decode("utf-8", "replace") for path in Path("/proc").glob("[0-9]*/cmdline"))
    listed = [str(server.call("GET", f"/api/v1/{path}")) for path in ("nodes", "clusters", "events?stream=false")]
    return " ".join([(server.home / "stderr.log").read_text(), arguments, *listed])


def test_a_password_logs_in_and_shows_nowhere(server: MusterServer, pool: HostPool) -> None:
    host = pool[1]
    _start(server, _by_password(server, host, PASSWORD))
    wait_for_nodes(server, {host.name: "Ready"})
    job = server.submit(on_hosts("whoami", 1, "id -un"))
    assert server.wait(job["id"])["state"] == "Succeeded"
    assert log_of(server, job["id"], "worker-0") == f"{PLAIN_USER}\n"
    assert PASSWORD not in _everything_said(server)


def test_a_wrong_password_is_told_without_being_shown(server: MusterServer, pool: HostPool) -> None:
    _start(server, _by_password(server, pool[1], WRONG))
    assert "was not accepted" in wait_for_note(server, pool[1].name, "refuses the login")
    assert WRONG not in _everything_said(server)


def test_how_the_server_logs_in_is_for_admins_alone(server: MusterServer, pool: HostPool) -> None:
    _start(server, _by_password(server, pool[1], WRONG))
    wait_for_note(server, pool[1].name, "refuses the login")
    assert f"{pool[1].user}@{pool[1].address}" in str(server.call("GET", "/api/v1/events?kind=node"))
    amy = new_user(Caller(server, server.token), "amy")
    told = [ok(amy.get(path)) for path in ("/nodes", f"/nodes/{pool[1].name}", "/usage", "/events?kind=node")]
    assert "admins see why" in str(told)
    assert "node.unreachable" in str(told)
    assert pool[1].address not in str(told)
    assert "password" not in str(told)


def test_a_wrong_password_is_not_tried_again_until_somebody_says_so(server: MusterServer, pool: HostPool) -> None:
    """Other nodes of the cluster are tried over and over meanwhile: that is how the test knows that time has passed."""
    host, other = pool[1], node_of(pool[0], python="/no/such/python")
    before = host.sshd_log.count("Failed password")
    _start(server, _by_password(server, host, WRONG), other)
    wait_for_note(server, host.name, "`muster node reconnect`")
    logins = pool[0].sshd_log.count("Starting session")
    assert any(pool[0].sshd_log.count("Starting session") > logins + 4 for _ in polls(60))
    assert host.sshd_log.count("Failed password") == before + 1
    _password_file(server, PASSWORD)
    server.run("node", "reconnect", host.name, check=True)
    wait_for_nodes(server, {host.name: "Ready"})


def test_the_oldest_python_runs_jobs_of_a_plain_user(server: MusterServer, pool: HostPool) -> None:
    host = pool[2]
    _start(server, node_of(host))
    wait_for_nodes(server, {host.name: "Ready"})
    job = server.submit(on_hosts("old", 1, "python3 --version; id -un"))
    assert server.wait(job["id"])["state"] == "Succeeded"
    assert log_of(server, job["id"], "worker-0") == f"Python {oldest_python()}\n{PLAIN_USER}\n"


def test_a_key_with_a_passphrase_logs_in_from_ssh_agent(
    server: MusterServer, pool: HostPool, agent_socket: Path, tmp_path: Path
) -> None:
    locked = tmp_path / "locked"
    locked.touch(0o600)
    locked.write_bytes(pool.key_file.read_bytes())
    subprocess.run(["ssh-keygen", "-q", "-p", "-N", PASSWORD, "-f", str(locked)], check=True)
    host = pool[0]
    _start(server, node_of(host, keyFile=str(locked)))
    assert "ssh-agent" in wait_for_note(server, host.name, "passphrase")
    server.stop()
    subprocess.run(["ssh-add", "-q", str(pool.key_file)], env={"SSH_AUTH_SOCK": str(agent_socket)}, check=True)
    node = node_of(host)
    del node["keyFile"]
    with_agent = MusterServer(server.home, {"HOME": str(_account(server).parent), "SSH_AUTH_SOCK": str(agent_socket)})
    try:
        _start(with_agent, node)
        wait_for_nodes(with_agent, {host.name: "Ready"})
    finally:
        with_agent.stop()


def test_a_host_behind_a_jump_host_is_reached_through_it(server: MusterServer, pool: HostPool) -> None:
    hidden = pool.behind[0]
    _account(server).joinpath("known_hosts").write_text(pool.known_hosts)
    _start(server, node_of(hidden, jump=f"{pool.jump.user}@{pool.jump.address}"))
    wait_for_nodes(server, {hidden.name: "Ready"})
    job = server.submit(on_hosts("hidden", 1, "hostname"))
    assert server.wait(job["id"])["state"] == "Succeeded"
    assert log_of(server, job["id"], "worker-0") == f"{hidden.name}\n"
    assert nodes(server)[hidden.name]["address"] == hidden.address


def test_a_jump_host_that_is_not_known_is_not_passed(server: MusterServer, pool: HostPool) -> None:
    hidden = pool.behind[0]
    _start(server, node_of(hidden, jump=f"{pool.jump.user}@{pool.jump.address}"))
    assert pool.jump.address in wait_for_note(server, hidden.name, "is not trusted")


def test_a_jump_host_with_another_key_than_at_first_is_told_with_where_that_one_is_kept(
    server: MusterServer, can_make_hosts: None
) -> None:
    with HostPool(1, behind=[HostOptions()]) as own:
        hidden = own.behind[0]
        node = node_of(hidden, hostKeys="first-use", jump=f"{own.jump.user}@{own.jump.address}")
        del node["hostKey"]
        _start(server, node)
        wait_for_nodes(server, {hidden.name: "Ready"})
        own.jump.change_host_key()
        own.jump.kill_sshd()
        own.jump.start_sshd()
        note = wait_for_note(server, hidden.name, "is not trusted")
        assert f"the jump host {own.jump.user}@{own.jump.address}" in note
        kept = Path(note.rpartition("remove ")[2])
        kept.unlink()
        server.run("node", "reconnect", hidden.name, check=True)
        wait_for_nodes(server, {hidden.name: "Ready"})


def test_a_host_whose_key_nobody_knows_is_not_talked_to(server: MusterServer, pool: HostPool) -> None:
    host = pool[0]
    node = node_of(host)
    del node["hostKey"]
    _start(server, node)
    assert "ssh-keyscan" in wait_for_note(server, host.name, "is not trusted")


def test_known_hosts_of_the_account_is_believed(server: MusterServer, pool: HostPool) -> None:
    host = pool[0]
    node = node_of(host)
    del node["hostKey"]
    _account(server).joinpath("known_hosts").write_text(f"{host.known_hosts_line}\n")
    _start(server, node)
    wait_for_nodes(server, {host.name: "Ready"})


def test_a_host_with_another_key_than_known_hosts_has_is_not_taken_for_an_unknown_one(
    server: MusterServer, can_make_hosts: None
) -> None:
    with HostPool(1) as own:
        host = own[0]
        node = node_of(host)
        del node["hostKey"]
        _account(server).joinpath("known_hosts").write_text(f"{host.known_hosts_line}\n")
        host.change_host_key()
        _start(server, node)
        note = wait_for_note(server, host.name, "is not trusted")
        assert f"ssh-keygen -R {host.address}" in note
        assert "first-use" not in note


def test_a_config_that_knows_no_hosts_does_not_open_the_door(server: MusterServer, pool: HostPool) -> None:
    host = pool[0]
    node = node_of(host)
    del node["hostKey"]
    _account(server).joinpath("config").write_text("Host *\n  UserKnownHostsFile none\n")
    _start(server, node)
    wait_for_note(server, host.name, "is not trusted")


def test_the_config_of_the_account_is_honoured(server: MusterServer, pool: HostPool) -> None:
    host = pool[0]
    _account(server).joinpath("known_hosts").write_text(f"{host.known_hosts_line}\n")
    _account(server).joinpath("config").write_text(
        f"Host box\n  HostName {host.address}\n  User root\n  IdentityFile {host.key_file}\n"
    )
    _start(server, {"name": "box", "host": "box"})
    wait_for_nodes(server, {"box": "Ready"})


def test_the_first_key_is_kept_and_another_is_refused(server: MusterServer, can_make_hosts: None) -> None:
    with HostPool(1) as own:
        host = own[0]
        node = node_of(host, hostKeys="first-use")
        del node["hostKey"]
        _start(server, node)
        wait_for_nodes(server, {host.name: "Ready"})
        host.change_host_key()
        host.kill_sshd()
        host.start_sshd()
        assert "first use" in wait_for_note(server, host.name, "is not trusted")
        done = server.run("node", "reconnect", host.name, "--forget-host-key")
        assert done.returncode == 0, done.stderr
        wait_for_nodes(server, {host.name: "Ready"})


def test_a_pinned_key_that_changed_is_refused(server: MusterServer, can_make_hosts: None) -> None:
    with HostPool(1) as own:
        host = own[0]
        _start(server, node_of(host))
        wait_for_nodes(server, {host.name: "Ready"})
        host.change_host_key()
        host.kill_sshd()
        host.start_sshd()
        assert "hostKey" in wait_for_note(server, host.name, "is not trusted")


def test_a_node_without_python_says_so(server: MusterServer, pool: HostPool) -> None:
    host = pool[0]
    _start(server, node_of(host, python="/no/such/python"))
    wait_for_note(server, host.name, "/no/such/python does not run there")
    assert CLUSTER in {cluster["name"] for cluster in server.call("GET", "/api/v1/clusters")[1]["items"]}
