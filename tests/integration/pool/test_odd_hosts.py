"""Hosts as they are found in laboratories: shells that talk, accounts that may not log in, homes that take no files."""

import os
import re
import time
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pytest

from tests.parts.hosts import PLAIN_USER, Host, HostOptions, HostPool, oldest_python
from tests.parts.server import MusterServer
from tests.parts.ssh_cluster import log_of, node_of, on_hosts, wait_for_nodes, wait_for_note, write_cluster

HOME = f"/home/{PLAIN_USER}"
CLOCKS_AGREE_S = 10.0
_OTHER_CLOCK = """
import os, time

def behind(real):
    def told(*args, **more):
        found = real(*args, **more)
        fields = {name: getattr(found, name) for name in dir(found) if name.startswith("st_")}
        return type("Stat", (), dict(fields, st_mtime=found.st_mtime - BEHIND_S))
    return told

now = time.time
time.time = lambda: now() - BEHIND_S
os.fstat = behind(os.fstat)
"""


@pytest.fixture
def pool(can_make_hosts: None) -> Iterator[HostPool]:
    with HostPool([HostOptions(user=PLAIN_USER)]) as made:
        yield made


def _start(server: MusterServer, *members: dict[str, Any]) -> None:
    write_cluster(server.home, members, defaults={})
    server.start()


def _set_shell(host: Host, shell: str) -> None:
    accounts = host.path("/etc/passwd")
    accounts.write_text(re.sub(rf"(?m)^({PLAIN_USER}:.*):[^:]*$", rf"\1:{shell}", accounts.read_text()))


def test_a_login_shell_that_greets_is_passed_over(server: MusterServer, pool: HostPool) -> None:
    host = pool[0]
    greeting = "echo 'Welcome to the lab!'; echo 'be kind' >&2; printf 'no newline at the end'\n"
    host.path(f"{HOME}/.bashrc").write_text(greeting)
    _start(server, node_of(host))
    wait_for_nodes(server, {host.name: "Ready"})
    job = server.submit(on_hosts("hello", 1, "echo hello"))
    assert server.wait(job["id"])["state"] == "Succeeded"
    assert log_of(server, job["id"], "worker-0") == "hello\n"


@pytest.mark.parametrize("shell", ["/bin/false", "/usr/sbin/nologin"])
def test_an_account_that_may_not_log_in_is_told_of_with_what_to_try(
    shell: str, server: MusterServer, pool: HostPool
) -> None:
    _set_shell(pool[0], shell)
    _start(server, node_of(pool[0]))
    assert "`ssh HOST python3 --version`" in wait_for_note(server, pool[0].name, "python3 does not run there")


def test_a_home_that_takes_no_files_is_told_of_and_another_root_will_do(server: MusterServer, pool: HostPool) -> None:
    host = pool[0]
    os.chown(host.path(HOME), 0, 0)
    _start(server, node_of(host))
    assert "`root` in the cluster file" in wait_for_note(server, host.name, "Permission denied")
    write_cluster(server.home, [node_of(host, root="/var/tmp/muster")], defaults={})
    wait_for_nodes(server, {host.name: "Ready"})


def test_another_python_may_be_named_where_python3_is_missing(server: MusterServer, pool: HostPool) -> None:
    host = pool.add(HostOptions(user=PLAIN_USER, python=oldest_python().path))
    host.path("/usr/local/bin/python3").rename(host.path("/usr/local/bin/python3.8"))
    host.path("/usr/bin/python3").unlink(missing_ok=True)
    _start(server, node_of(host))
    wait_for_note(server, host.name, "`python` in the cluster file")
    write_cluster(server.home, [node_of(host, python="python3.8")], defaults={})
    wait_for_nodes(server, {host.name: "Ready"})


def test_a_job_is_not_ended_by_the_clock_of_a_machine_that_nobody_set(server: MusterServer, pool: HostPool) -> None:
    host = pool[0]
    _set_clock(host, behind_s=7200)
    _start(server, node_of(host))
    found = wait_for_nodes(server, {host.name: "Ready"})
    assert re.match(r"its clock is 2h\S* behind", found[host.name]["alerts"][0])
    before = time.time()
    job = server.submit(on_hosts("slow", 1, "sleep 2", timeLimit="1h"))
    ended = server.wait(job["id"])
    assert ended["state"] == "Succeeded", ended
    started, stopped = (datetime.fromisoformat(ended[key]).timestamp() for key in ("startedAt", "endedAt"))
    assert before - CLOCKS_AGREE_S < started < stopped < time.time() + CLOCKS_AGREE_S


def _set_clock(host: Host, behind_s: int) -> None:
    """Hosts share the clock of this machine, so it is Python there that sees another one."""
    where = host.run(["python3", "-c", "import sysconfig; print(sysconfig.get_path('stdlib'))"]).strip()
    host.path(f"{where}/sitecustomize.py").unlink(missing_ok=True)
    host.path(f"{where}/sitecustomize.py").write_text(f"BEHIND_S = {behind_s}\n{_OTHER_CLOCK}")


def test_a_command_on_a_node_that_cannot_be_reached_fails_with_the_reason(server: MusterServer, pool: HostPool) -> None:
    host = pool[0]
    _start(server, node_of(host, python="/no/such/python"))
    wait_for_note(server, host.name, "/no/such/python does not run there")
    done = server.run("node", "exec", host.name, "--", "true")
    assert done.returncode == 1
    assert f"node {host.name} does not answer: /no/such/python does not run there" in done.stderr
