"""What the tasks of a job with an SSH server are started with."""

import pytest

from muster.domain.specs import Framework, Ssh
from tests.unit.launch.gangs import composed, role, spec

pytestmark = pytest.mark.fast


def test_tasks_with_an_ssh_server_have_a_port_a_key_and_the_names_of_their_peers() -> None:
    job = spec(role(replicas=2, ports=1), framework=Framework.MPI, ssh=Ssh(("ssh-ed25519 AAAA ada",)))
    first, second = composed(job)
    assert (first.env["MUSTER_SSH_PORT"], first.env["MUSTER_PORT_0"]) == ("40000", "40001")
    assert first.files["ssh.peers"] == "worker-0 10.0.0.1 40000\nworker-1 10.0.0.2 40000\n"
    assert first.files["ssh.keys"] == "ssh-ed25519 AAAA ada\n"
    assert first.files["hostfile"] == "worker-0 slots=1\nworker-1 slots=1\n"
    assert {use.file for use in first.secrets} == {".muster/ssh-key", ".muster/ssh-host-key"}
    assert [(one.name, one.address) for one in second.ssh_hosts or ()] == [
        ("worker-0", "10.0.0.1"),
        ("worker-1", "10.0.0.2"),
    ]


def test_names_of_tasks_that_share_a_node_are_known_to_ssh_only() -> None:
    requests = composed(spec(role(replicas=3), ssh=Ssh()))
    assert {one.ssh_hosts for one in requests} == {()}
    assert composed(spec())[0].ssh_hosts is None
