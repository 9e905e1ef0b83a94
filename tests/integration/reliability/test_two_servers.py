"""Two servers on one database: one acts, the other is a standby that passes requests on and takes over."""

import os
import signal
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.parts.postgres import PostgresMissing, running_postgres
from tests.parts.server import MusterServer, polls

from .conftest import unkindly_treated
from .small_jobs import small_job
from .verdicts import check_every_job_ended_once, check_no_task_ran_twice

Pair = tuple[MusterServer, MusterServer]


@pytest.fixture(params=["sqlite", "postgresql"])
def pair(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Pair]:
    """The first one acts. Both have a home of their own, and the tasks run in the first one's."""
    with ExitStack() as stack:
        if request.param == "sqlite":
            url = f"sqlite:///{tmp_path / 'shared.db'}"
        else:
            base = stack.enter_context(tempfile.TemporaryDirectory(prefix="muster-pg-", ignore_cleanup_errors=True))
            try:
                url = stack.enter_context(running_postgres(Path(base)))(None)
            except PostgresMissing as missing:
                pytest.skip(str(missing))
        first = stack.enter_context(unkindly_treated(tmp_path / "one", url))
        second = stack.enter_context(unkindly_treated(tmp_path / "two", url))
        first.start()
        second.start()
        yield first, second


def test_the_standby_passes_commands_and_reads_on(pair: Pair, tmp_path: Path) -> None:
    first, second = pair
    job = second.submit({"name": "by-standby", "command": f"until [ -e {tmp_path}/go ]; do sleep 0.05; done; echo hi"})
    second.wait_for_state(job["id"], "Running")
    assert first.call("GET", f"/api/v1/jobs/{job['id']}")[1]["name"] == "by-standby"
    assert second.call("GET", "/readyz")[0] == 200
    (tmp_path / "go").touch()
    assert second.wait(job["id"])["state"] == "Succeeded"
    assert "hi" in second.run("logs", job["id"], check=True).stdout
    endless = second.submit({"name": "endless", "command": "sleep 1000"})
    second.wait_for_state(endless["id"], "Running")
    second.run("kill", "endless", check=True)
    assert first.wait(endless["id"])["state"] == "Cancelled"
    assert not list((second.home / "node").glob("tasks/*")), "the standby has launched something"


def test_the_standby_passes_commands_in_tasks_on(pair: Pair) -> None:
    _, second = pair
    job = second.submit({"name": "entered", "command": "sleep 1000"})["id"]
    second.wait_for_state(job, "Running")
    text = "x" * 200_000
    done = second.run("exec", job, "-i", "--", "sh", "-c", "cat; echo err >&2; exit 7", input=text)
    assert (done.returncode, done.stdout, done.stderr) == (7, text, "err\n")
    assert "has no worker" in second.run("exec", job, "-w", "worker-9", "--", "true").stderr
    assert "there is no job" in second.run("exec", "no-such-job", "--", "true").stderr
    second.run("kill", job, check=True)


def test_the_standby_takes_over_when_the_first_one_is_killed_and_nothing_runs_twice(pair: Pair, tmp_path: Path) -> None:
    first, second = pair
    records = tmp_path / "records"
    records.mkdir()
    ids = {first.submit(small_job(number, records))["id"] for number in range(8)}
    command = f"until [ -e {tmp_path}/go ]; do sleep 0.05; done; echo survived"
    longer = first.submit({"name": "longer", "command": command})["id"]
    first.wait_for_state(longer, "Running")
    first.kill()
    ids |= {submitted(second, small_job(number, records)) for number in range(8, 12)}
    (tmp_path / "go").touch()
    ended = second.wait(longer)
    assert (ended["state"], ended["attempt"]) == ("Succeeded", 1)
    assert "survived" in second.run("logs", longer, check=True).stdout
    for job in ids:
        second.wait(job)
    check_every_job_ended_once(second, ids | {longer})
    check_no_task_ran_twice(second, ids, records)
    first.start()  # which is the standby now
    assert first.call("GET", f"/api/v1/jobs/{longer}")[1]["state"] == "Succeeded"
    assert has_taken_over(second)
    assert not has_taken_over(first)


def test_a_clean_stop_hands_over(pair: Pair) -> None:
    first, second = pair
    first.stop()
    job = submitted(second, {"name": "after", "command": "true"})
    assert second.wait(job)["state"] == "Succeeded"


def test_a_server_that_was_paused_wakes_up_as_a_standby_and_disturbs_nothing(pair: Pair, tmp_path: Path) -> None:
    first, second = pair
    command = f"until [ -e {tmp_path}/go ]; do sleep 0.05; done"
    job = first.submit({"name": "goes-on", "command": command})["id"]
    first.wait_for_state(job, "Running")
    os.kill(first.pid, signal.SIGSTOP)
    try:
        later = submitted(second, {"name": "later", "command": "true"})
        assert second.wait(later)["state"] == "Succeeded"
    finally:
        os.kill(first.pid, signal.SIGCONT)
    waits_for_log(first, "this one stops to act and becomes a standby")
    third = submitted(first, {"name": "third", "command": "true"})
    assert first.wait(third)["state"] == "Succeeded"
    (tmp_path / "go").touch()
    assert second.wait(job)["attempt"] == 1
    assert has_taken_over(second)
    assert not has_taken_over(first)


def test_a_standby_may_share_the_home_of_the_first_server(tmp_path: Path) -> None:
    with unkindly_treated(tmp_path / "home") as first:
        first.start()
        token, job = first.token, first.submit({"name": "kept", "command": f"until [ -e {tmp_path}/go ]; do :; done"})
        first.wait_for_state(job["id"], "Running")
        second = MusterServer(first.home, {"MUSTER_STANDBY": "true", "MUSTER_LOG_LEVEL": "info"})
        second.start()
        try:
            assert second.call("GET", f"/api/v1/jobs/{job['id']}", token=token)[1]["state"] == "Running"
            first.kill()
            (tmp_path / "go").touch()
            assert (ended := second.wait(job["id"]))["state"] == "Succeeded"
            assert ended["attempt"] == 1
        finally:
            second.stop()


def submitted(server: MusterServer, spec: dict[str, object]) -> str:
    """Submits until some server accepts it."""
    for _ in polls(30):
        status, answer = server.call("POST", "/api/v1/jobs", {"spec": spec})
        if status == 201:
            return str(answer["id"])
        assert status == 503, answer
    raise AssertionError(f"nobody takes {spec}")


def waits_for_log(server: MusterServer, words: str) -> None:
    for _ in polls(30):
        if words in (server.home / "stderr.log").read_text():
            return
    raise AssertionError(f"{words!r} is not in the log of the server")


def has_taken_over(server: MusterServer) -> bool:
    return "this server takes over" in (server.home / "stderr.log").read_text()
