"""What a plain user's job may reach on the server's own machine, as it is set up by default."""

import pytest

from tests.parts.server import MusterServer
from tests.security.isolation.conftest import Person, people


@pytest.fixture(scope="module")
def mallory(server: MusterServer) -> Person:
    [person] = people(server, "mallory")
    return person


def test_a_plain_users_job_runs_and_has_its_own_home(mallory: Person) -> None:
    ended = mallory.run('cd ~ && echo x > file && cat file && echo "$HOME" "$USER" && id -u')
    assert ended.state == "Succeeded", ended.log
    first, home, uid = ended.log.splitlines()
    assert first == "x"
    assert home.split()[1] == "mallory"
    assert int(uid) >= 1000


def test_a_job_does_not_read_the_token_of_the_server(server: MusterServer, mallory: Person) -> None:
    ended = mallory.run(f"cat {server.home}/context.json ~/../../../../context.json ~/.muster/context.json; true")
    assert "token" not in ended.log
