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


def test_a_task_has_no_token_and_the_server_does_nothing_for_it(server: MusterServer, mallory: Person) -> None:
    victim = server.submit({"name": "victim", "command": "sleep 600"})["id"]
    program = (
        "import sys, urllib.request, urllib.error\n"
        "for method, path in (('GET', f'/jobs/{sys.argv[2]}/logs/raw'), ('POST', f'/jobs/{sys.argv[2]}/kill')):\n"
        "    request = urllib.request.Request(sys.argv[1] + '/api/v1' + path, b'{}' if method == 'POST' else None)\n"
        "    try:\n"
        "        print(urllib.request.urlopen(request).status)\n"
        "    except urllib.error.HTTPError as error:\n"
        "        print(error.code)\n"
    )
    ended = mallory.run(
        f"env | grep -c -e mst_ -e MUSTER_TOKEN; /usr/bin/python3 - {server.url} {victim} <<'END'\n{program}END\n"
    )
    assert ended.log.split() == ["0", "401", "401"]
    assert server.call("GET", f"/api/v1/jobs/{victim}")[1]["state"] in ("Starting", "Running")
    server.call("POST", f"/api/v1/jobs/{victim}/kill", {"grace": "0s"})
    server.wait(victim)
