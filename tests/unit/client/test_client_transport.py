"""What a request does when the answer is late, lost, or no answer at all."""

import socket
import threading

import pytest

from muster.client import Client, Job, MusterError
from muster.client.errors import UNCONFIRMED
from muster.client.transport import API, Request, Timeouts, Transport
from tests.unit.client.tiny_server import DROP, Answer, TinyServer, a_job, problem

pytestmark = pytest.mark.fast

SPEC = Job(name="mnist", command=["python", "train.py"])


def test_lost_answer_to_a_submission_is_asked_for_again_under_the_same_key(server: TinyServer) -> None:
    server.on("POST", "/jobs", DROP, DROP, Answer(201, a_job()))
    assert Client(server.url).submit(SPEC).id == a_job()["id"]
    keys = {asked.headers["Idempotency-Key"] for asked in server.requests("POST", "/jobs")}
    assert len(server.requests("POST", "/jobs")) == 3
    assert len(keys) == 1


@pytest.mark.parametrize(
    "refusal",
    [
        problem(401, "not-authenticated", "the token has expired"),
        problem(422, "invalid", "there is no cluster 'a' any more"),
        Answer(429, {"code": "too-many", "detail": "too many requests"}, headers={"Retry-After": "3600"}),
        problem(507, "storage-full", "the disk is full"),
    ],
)
def test_a_refusal_after_a_lost_answer_does_not_say_that_nothing_was_submitted(
    server: TinyServer, refusal: Answer
) -> None:
    server.on("POST", "/jobs", DROP, refusal)
    with pytest.raises(MusterError) as told:
        Client(server.url).submit(SPEC)
    [key] = {asked.headers["Idempotency-Key"] for asked in server.requests("POST", "/jobs")}
    assert told.value.code == UNCONFIRMED
    assert refusal.body["detail"] in told.value.message
    assert told.value.raw["requestKey"] == key


@pytest.mark.parametrize("status", [502, 503, 504])
def test_a_proxy_that_got_no_answer_is_asked_again_under_the_same_key(server: TinyServer, status: int) -> None:
    server.on("POST", "/jobs", Answer(status, b"<html>no answer</html>"), Answer(201, a_job()))
    assert Client(server.url).submit(SPEC).id == a_job()["id"]
    assert len({asked.headers["Idempotency-Key"] for asked in server.requests("POST", "/jobs")}) == 1


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (Answer(502, b"<html>bad gateway</html>"), UNCONFIRMED),
        (Answer(504, b""), UNCONFIRMED),
        (Answer(520, b"web server returned an unknown error"), UNCONFIRMED),
        (problem(500, "internal", "an unexpected error"), UNCONFIRMED),
        (Answer(201, b'{"id": "01jobjob'), UNCONFIRMED),
        (Answer(201, b""), UNCONFIRMED),
        (Answer(503, b"<html>no server is available</html>"), "bad-answer"),
        (Answer(301, b"", headers={"Location": "https://elsewhere"}), "bad-answer"),
        (Answer(404, b"<html>not here</html>"), "bad-answer"),
        (problem(507, "storage-full", "the disk is full"), "storage-full"),
    ],
)
def test_an_answer_that_does_not_tell_whether_a_job_was_made_is_not_told_as_a_failure(
    server: TinyServer, answer: Answer, code: str
) -> None:
    server.on("POST", "/jobs", answer)
    with pytest.raises(MusterError) as told:
        Client(server.url).submit(SPEC)
    assert told.value.code == code


def test_two_submissions_have_two_keys(server: TinyServer) -> None:
    server.on("POST", "/jobs", Answer(201, a_job()))
    client = Client(server.url)
    client.submit(SPEC)
    client.submit(SPEC)
    assert len({asked.headers["Idempotency-Key"] for asked in server.requests("POST", "/jobs")}) == 2


def test_request_that_may_not_be_repeated_is_sent_once(server: TinyServer) -> None:
    server.on("POST", "/users", DROP)
    with pytest.raises(MusterError) as caught:
        Client(server.url).add_user("li")
    assert caught.value.code == "unreachable"
    assert len(server.requests("POST", "/users")) == 1


def test_busy_server_is_asked_again(server: TinyServer) -> None:
    server.on("GET", "/whoami", problem(503, "unavailable", "starting"), Answer(200, {"user": "li", "role": "user"}))
    assert Client(server.url).whoami()["user"] == "li"


def test_failing_backend_is_not_asked_again(server: TinyServer) -> None:
    server.on("GET", "/nodes", problem(503, "backend-error", "slurm is down"))
    with pytest.raises(MusterError, match="slurm is down"):
        Client(server.url).nodes()
    assert len(server.requests("GET", "/nodes")) == 1


def test_connection_is_kept_between_requests(server: TinyServer) -> None:
    server.on("GET", "/whoami", Answer(200, {"user": "li"}))
    client = Client(server.url)
    client.whoami()
    first = client.transport._kept.connection.sock
    client.whoami()
    assert client.transport._kept.connection.sock is first


def test_each_thread_has_its_own_connection(server: TinyServer) -> None:
    server.on("GET", "/whoami", Answer(200, {"user": "li"}))
    client = Client(server.url)
    client.whoami()
    answers: list[str] = []
    threads = [threading.Thread(target=lambda: answers.append(client.whoami()["user"])) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == ["li"] * 8


def test_absent_server_is_told_with_what_to_do() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}"
        with pytest.raises(MusterError) as caught:
            Client(url).whoami()
    assert caught.value.message.startswith(f"no Muster server at {url}; start one with `muster up`")
    assert (caught.value.code, caught.value.status) == ("unreachable", 0)


def test_silent_server_is_given_up() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        transport = Transport(f"http://127.0.0.1:{silent.getsockname()[1]}", None, Timeouts(1.0, 0.05))
        with pytest.raises(MusterError) as caught:
            transport.json(Request("GET", f"{API}/whoami"))
    assert caught.value.code == "timed-out"


def test_problem_is_told_whole(server: TinyServer) -> None:
    found = {"path": "roles.worker.replica", "message": "unknown key", "hint": "did you mean replicas?", "line": 7}
    server.on("POST", "/jobs", problem(422, "invalid", "1 problem", hint="see muster schema", problems=[found]))
    with pytest.raises(MusterError) as caught:
        Client(server.url).submit(SPEC)
    error = caught.value
    assert (error.code, error.status, error.hint) == ("invalid", 422, "see muster schema")
    assert str(error.problems[0]) == "line 7: roles.worker.replica: unknown key (did you mean replicas?)"


def test_answer_of_something_else_than_muster_is_said_to_be_that(server: TinyServer) -> None:
    server.on("GET", "/whoami", Answer(502, b"<html>bad gateway</html>"))
    with pytest.raises(MusterError) as caught:
        Client(server.url).whoami()
    assert caught.value.code == "bad-answer"
    server.on("GET", "/whoami", Answer(200, b"<html>hello</html>"))
    with pytest.raises(MusterError, match="is not JSON"):
        Client(server.url).whoami()


def test_token_is_sent_as_bearer(server: TinyServer) -> None:
    server.on("GET", "/whoami", Answer(200, {"user": "li"}))
    Client(server.url, "secret").whoami()
    assert server.asked[0].headers["Authorization"] == "Bearer secret"


@pytest.mark.parametrize("address", ["ftp://host", "http://", "::"])
def test_address_that_is_none_is_refused(address: str) -> None:
    with pytest.raises(MusterError):
        Transport(address, None)


def test_server_behind_a_path_is_reached_there(server: TinyServer) -> None:
    with pytest.raises(MusterError):
        Client(f"{server.url}/muster/").whoami()
    assert server.asked[0].path == "/muster/api/v1/whoami"
