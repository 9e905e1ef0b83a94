"""Real servers send the records of real jobs to a real log server, which is killed, away, or somebody else."""

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
import yaml

from muster.bootstrap.self_signed import make_self_signed
from tests.parts.log_server import TOKEN, LogServer, running_log_server
from tests.parts.server import MusterServer, end_all_jobs, polls

LIFE = sorted(["job.queued", "job.starting", "task.running", "job.running", "task.succeeded", "job.succeeded"])
"""Sorted, because the start and the end of a task that runs for a moment may be noticed together."""


@contextmanager
def receiver(home: Path, log_server: Any, token: str = TOKEN, **settings: Any) -> Iterator[MusterServer]:
    """A server that sends its records to the address or to what else `logServer` may be."""
    home.mkdir(mode=0o700, parents=True)
    (home / "config.yaml").write_text(yaml.safe_dump({"logServer": log_server, **settings}))
    server = MusterServer(home, {"MUSTER_LOGSERVER_TOKEN": token})
    server.start()
    try:
        yield server
    finally:
        if not server.is_running:
            server.start()
        end_all_jobs(server)
        server.stop()


def address(log_server: LogServer) -> str:
    return f"127.0.0.1:{log_server.port}"


def ran(server: MusterServer, name: str, command: str = "true") -> str:
    job = server.submit({"name": name, "command": command, "resources": {"cpu": "50m"}, "params": {"lr": 0.1}})
    return str(server.wait(job["id"])["id"])


def lives(log_server: LogServer) -> dict[str, list[str]]:
    """By job, the kinds of its records in the order in which they were stored."""
    found: dict[str, list[str]] = {}
    for one in log_server.lines():
        found.setdefault(one.get("jobId", ""), []).append(one["kind"])
    return found


def wait_for_ends(log_server: LogServer, jobs: list[str]) -> dict[str, list[str]]:
    for _ in polls(60):
        found = lives(log_server)
        if all(found.get(job, [""])[-1] in ("job.succeeded", "job.failed", "job.cancelled") for job in jobs):
            return found
    raise AssertionError(f"{jobs} have not all ended in {found}")


def health(server: MusterServer) -> Any:
    """Asks again while a database that two servers share is busy on a slow machine."""
    status: int = 0
    answer: Any = None
    for _ in polls(20):
        status, answer = server.call("GET", "/api/v1/server/health")
        if status != 503:
            break
    assert status == 200, answer
    return answer["logServer"]


def wait_for_problem(server: MusterServer, text: str) -> Any:
    found: Any = None
    for _ in polls(60):
        found = health(server)
        if text in found["problem"]:
            return found
    raise AssertionError(found)


def said_in_log(server: MusterServer, text: str) -> bool:
    return text in (server.home / "stderr.log").read_text()


def test_two_servers_send_to_one_log_server_which_is_killed_in_between(tmp_path: Path) -> None:
    with ExitStack() as stack:
        log_server = stack.enter_context(running_log_server(tmp_path / "log"))
        servers = [stack.enter_context(receiver(tmp_path / name, address(log_server))) for name in ("a", "b")]
        jobs = [ran(server, "first") for server in servers]
        wait_for_ends(log_server, jobs)
        log_server.kill()
        jobs += [ran(server, f"away-{n}") for server in servers for n in range(3)]
        assert health(servers[0])["waiting"] > 0
        wait_for_problem(servers[1], "does not answer")
        log_server.start()
        jobs += [ran(server, "last") for server in servers]
        found = wait_for_ends(log_server, jobs)
        assert {job: sorted(found[job]) for job in jobs} == dict.fromkeys(jobs, LIFE)
        numbers = [(one["receiver"], one["seq"]) for one in log_server.lines()]
        assert len(numbers) == len(set(numbers))
        assert len({name for name, _ in numbers}) == 2
        first = next(one for one in log_server.lines() if one["jobId"] == jobs[0])
        assert first["trackingUrl"] == f"{servers[0].url}/jobs/{jobs[0]}"
        assert first["config"]["command"] == "true"
        assert first["params"] == {"lr": 0.1}
        for _ in polls(60):
            if (now := health(servers[0]))["waiting"] == 0 and not now["problem"]:
                break
        assert (now["waiting"], now["problem"], now["failingSince"], now["dropped"]) == (0, "", None, 0)

        listed = servers[0].json("history", "list", "--all")["items"]
        assert {one["id"] for one in listed} >= set(jobs)
        own = servers[0].json("history", "list")["items"]
        assert {one["server"] for one in own} == {servers[0].url}
        one = servers[0].json("history", "show", jobs[1])
        assert (one["job"]["server"], one["records"][0]["config"]["name"]) == (servers[1].url, "first")
        assert servers[0].json("history", "show", jobs[1][:-2])["job"]["id"] == jobs[1]
        assert servers[0].json("history", "show", "@last")["job"]["id"] == listed[0]["id"]
        refused = servers[0].run("history", "list", "--state", "Nope")
        assert refused.returncode == 2
        assert "Succeeded" in refused.stderr
        table = servers[0].run("history", "show", jobs[1], check=True).stdout
        assert "job.succeeded" in table
        doctor = servers[0].run("doctor").stdout
        assert f"log server: http://{address(log_server)} takes records" in doctor


def test_a_server_that_is_killed_sends_what_it_had_not_sent(tmp_path: Path) -> None:
    with running_log_server(tmp_path / "log") as log_server:
        log_server.stop()
        with receiver(tmp_path / "a", address(log_server)) as server:
            jobs = [ran(server, f"job-{n}") for n in range(4)]
            waits = server.submit({"name": "waits", "command": "sleep 600", "resources": {"cpu": "50m"}})["id"]
            server.wait_for_state(waits, "Running")
            server.kill()
            log_server.start()
            server.start()
            found = wait_for_ends(log_server, jobs)
            assert {job: sorted(found[job]) for job in jobs} == dict.fromkeys(jobs, LIFE)
            server.call("POST", f"/api/v1/jobs/{waits}/kill", {"grace": "0s"})
            server.wait(waits)
            assert wait_for_ends(log_server, [waits])[waits][-1] == "job.cancelled"
            numbers = [one["seq"] for one in log_server.lines()]
            assert numbers == sorted(set(numbers))


def test_records_of_a_job_that_was_deleted_before_they_were_sent_arrive(tmp_path: Path) -> None:
    with running_log_server(tmp_path / "log") as log_server:
        log_server.stop()
        with receiver(tmp_path / "a", address(log_server)) as server:
            job = ran(server, "gone")
            assert server.call("DELETE", f"/api/v1/jobs/{job}")[0] == 204
            log_server.start()
            assert sorted(wait_for_ends(log_server, [job])[job]) == LIFE


def test_records_travel_encrypted_and_only_to_a_server_that_is_trusted(tmp_path: Path) -> None:
    certificate, key = tmp_path / "tls.crt", tmp_path / "tls.key"
    make_self_signed(certificate, key, "127.0.0.1")
    with running_log_server(tmp_path / "log", "--tls-cert", str(certificate), "--tls-key", str(key)) as log_server:
        url = f"https://127.0.0.1:{log_server.port}"
        with receiver(tmp_path / "a", {"url": url, "caFile": str(certificate)}) as server:
            job = ran(server, "encrypted")
            assert sorted(wait_for_ends(log_server, [job])[job]) == LIFE
        with receiver(tmp_path / "b", url) as server:
            wait_for_problem(server, "CERTIFICATE_VERIFY_FAILED")
        with receiver(tmp_path / "c", {"url": url, "caFile": str(tmp_path / "missing")}) as server:
            wait_for_problem(server, "No such file")


def test_a_wrong_address_is_said_at_the_start_and_the_server_works(tmp_path: Path) -> None:
    with receiver(tmp_path / "a", "127.0.0.1:1") as server:
        wait_for_problem(server, "does not answer: Connection refused")
        assert said_in_log(server, "records cannot be sent to the log server")
        ran(server, "works")
        doctor = server.run("doctor").stdout
        assert "warn  log server: http://127.0.0.1:1 does not answer" in doctor
        assert "records wait" in doctor
        status, answer = server.call("GET", "/api/v1/history")
        assert (status, answer["code"]) == (503, "history-away")
        assert "http://127.0.0.1:1 does not answer" in answer["detail"]


def test_a_wrong_token_is_said_and_records_wait_until_it_is_right(tmp_path: Path) -> None:
    with (
        running_log_server(tmp_path / "log") as log_server,
        receiver(tmp_path / "a", address(log_server), "not-this-one") as server,
    ):
        wait_for_problem(server, "refuses the token")
        assert said_in_log(server, "refuses the token")
        assert not said_in_log(server, "not-this-one")
        job = ran(server, "waits")
        token = server.home / "log-token"
        token.write_text(f"{TOKEN}\n")
        token.chmod(0o600)
        settings = {"url": log_server.url, "tokenFile": "log-token"}
        (server.home / "config.yaml").write_text(yaml.safe_dump({"logServer": settings}))
        server.stop()
        server.start()
        assert sorted(wait_for_ends(log_server, [job])[job]) == LIFE


def test_the_address_of_something_else_is_noticed(tmp_path: Path) -> None:
    class Other(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"<html>hello</html>")

        do_POST = do_GET

        def log_message(self, *_: object) -> None:
            pass

    other = ThreadingHTTPServer(("127.0.0.1", 0), Other)
    Thread(target=other.serve_forever, daemon=True).start()
    try:
        with receiver(tmp_path / "a", f"127.0.0.1:{other.server_address[1]}") as server:
            wait_for_problem(server, "not as a log server of Muster does")
            ran(server, "works")
            assert health(server)["waiting"] > 0
    finally:
        other.shutdown()
        other.server_close()


def test_admins_are_alerted_and_the_oldest_are_dropped_at_the_bound(tmp_path: Path) -> None:
    settings = {"url": "127.0.0.1:1", "alertAfter": "0s", "maxBacklog": 5}
    with receiver(tmp_path / "a", settings) as server:
        ran(server, "one")
        ran(server, "two")
        for _ in polls(60):
            if health(server)["dropped"]:
                break
        found = health(server)
        assert found["waiting"] <= 7
        _, alerts = server.call("GET", "/api/v1/alerts")
        (alert,) = [one for one in alerts["items"] if one["kind"] == "log-server"]
        assert (alert["severity"], alert["numbers"]["address"]) == ("critical", "http://127.0.0.1:1")
        status, metrics = server.call("GET", "/metrics")
        assert status == 200
        assert f'muster_log_records{{state="dropped"}} {float(found["dropped"])}' in metrics
        server.stop()
        with running_log_server(tmp_path / "log") as log_server:
            (server.home / "config.yaml").write_text(yaml.safe_dump({"logServer": address(log_server)}))
            server.start()
            for _ in polls(60):
                if log_server.lines():
                    break
            notice = log_server.lines()[0]
            assert notice["kind"] == "receiver.dropped"
            assert notice["dropped"] >= found["dropped"]


def test_users_see_their_own_jobs_in_the_history_and_admins_all(tmp_path: Path) -> None:
    with running_log_server(tmp_path / "log") as log_server, receiver(tmp_path / "a", address(log_server)) as server:
        tokens = {}
        for name in ("li", "wang"):
            status, answer = server.call("POST", "/api/v1/users", {"name": name, "role": "user"})
            assert status == 201, answer
            status, answer = server.call("POST", "/api/v1/tokens", {"name": "t", "user": name})
            assert status == 201, answer
            tokens[name] = answer["secret"]
        jobs = {}
        for name, token in tokens.items():
            spec = {"name": f"of-{name}", "command": "true", "resources": {"cpu": "50m"}}
            _, job = server.call("POST", "/api/v1/jobs", {"spec": spec}, token=token)
            jobs[name] = job["id"]
        wait_for_ends(log_server, list(jobs.values()))
        receiver_id = log_server.lines()[0]["receiver"]
        for name, token in tokens.items():
            other = next(one for one in jobs if one != name)
            _, page = server.call("GET", "/api/v1/history?all=true", token=token)
            assert [one["id"] for one in page["items"]] == [jobs[name]]
            assert page["onlyOwn"]
            _, page = server.call("GET", f"/api/v1/history?all=true&owner={other}", token=token)
            assert page["items"] == []
            assert server.call("GET", f"/api/v1/history/{receiver_id}/{jobs[name]}", token=token)[0] == 200
            assert server.call("GET", f"/api/v1/history/{receiver_id}/{jobs[other]}", token=token)[0] == 404
        _, page = server.call("GET", "/api/v1/history")
        assert {one["id"] for one in page["items"]} >= set(jobs.values())
        _, page = server.call("GET", "/api/v1/history?owner=li&state=Succeeded&since=1h&text=of-")
        assert [one["id"] for one in page["items"]] == [jobs["li"]]
        assert server.call("GET", "/api/v1/history?cursor=x")[0] == 422

        assert server.call("DELETE", "/api/v1/users/li")[0] == 204
        assert server.call("POST", "/api/v1/users", {"name": "li", "role": "user"})[0] == 201
        _, next_li = server.call("POST", "/api/v1/tokens", {"name": "t", "user": "li"})
        for window in ("", "&since=1h"):
            _, page = server.call("GET", f"/api/v1/history?all=true{window}", token=next_li["secret"])
            assert page["items"] == [], "a job of the former user of this name"
        assert server.call("GET", f"/api/v1/history/{receiver_id}/{jobs['li']}", token=next_li["secret"])[0] == 404


def test_a_task_sets_the_tracking_url(tmp_path: Path) -> None:
    with running_log_server(tmp_path / "log") as log_server, receiver(tmp_path / "a", address(log_server)) as server:
        telling = 'echo http://board.example.org/7 > "$MUSTER_TASK_DIR/tracking-url"'
        command = f"{telling}; until [ -e go ]; do sleep 0.05; done"
        job = server.submit({"name": "told", "command": command, "resources": {"cpu": "50m"}})
        assert job["trackingUrl"] == f"{server.url}/jobs/{job['id']}"
        for _ in polls(60):
            _, now = server.call("GET", f"/api/v1/jobs/{job['id']}")
            if now["trackingUrl"] == "http://board.example.org/7":
                break
        assert now["trackingUrl"] == "http://board.example.org/7"
        assert "http://board.example.org/7" in server.run("describe", "told", check=True).stdout
        for _ in polls(60):
            told = [one for one in log_server.lines() if one["kind"] == "job.tracking"]
            if told:
                break
        assert told[0]["trackingUrl"] == "http://board.example.org/7"


def test_a_standby_tells_how_the_sending_goes_as_the_acting_server_knows(tmp_path: Path) -> None:
    shared = {"database": f"sqlite:///{tmp_path / 'shared.db'}"}
    nowhere = "127.0.0.1:1"
    with receiver(tmp_path / "a", nowhere, **shared) as acting, receiver(tmp_path / "b", nowhere, **shared) as standby:
        wait_for_problem(acting, "does not answer")
        assert health(standby) is None
        _, answer = standby.call("GET", "/api/v1/server/health?acting=true")
        assert (answer["role"], answer["logServer"]["address"]) == ("acting", "http://127.0.0.1:1")
        assert "warn  log server: http://127.0.0.1:1 does not answer" in standby.run("doctor").stdout


def test_who_asks_a_log_server_that_refuses_the_token_is_told_what_helps(tmp_path: Path) -> None:
    with running_log_server(tmp_path / "log") as log_server:
        with receiver(tmp_path / "a", address(log_server), token="another") as server:
            said = server.run("history", "list", "--all").stderr
        assert "refuses the token" in said
        assert "tokenFile" in said
        assert "ask again later" not in said


@pytest.mark.parametrize("text", ["javascript:alert(1)", "http://u:p@h/", "x" * 5000, ""])
def test_what_is_no_address_is_not_taken_from_a_task(tmp_path: Path, text: str) -> None:
    with running_log_server(tmp_path / "log") as log_server, receiver(tmp_path / "a", address(log_server)) as server:
        spec = {"name": "told", "command": 'echo "$TEXT" > "$MUSTER_TASK_DIR/tracking-url"; sleep 0.2'}
        job = server.submit({**spec, "env": {"TEXT": text}, "resources": {"cpu": "50m"}})
        ended = server.wait(job["id"])
        assert ended["trackingUrl"] == f"{server.url}/jobs/{job['id']}"
        assert "job.tracking" not in json.dumps(wait_for_ends(log_server, [job["id"]]))


def test_submit_prints_the_tracking_url(tmp_path: Path) -> None:
    with running_log_server(tmp_path / "log") as log_server, receiver(tmp_path / "a", address(log_server)) as server:
        file = tmp_path / "job.yaml"
        file.write_text("name: one\ncommand: 'true'\nresources: {cpu: 50m}\n")
        done = server.run("submit", str(file), "-o", "json", check=True)
        job = json.loads(done.stdout)
        assert job["trackingUrl"] == f"{server.url}/jobs/{job['id']}"
        assert f"  tracking URL: {server.url}/jobs/{job['id']}\n" in done.stderr
