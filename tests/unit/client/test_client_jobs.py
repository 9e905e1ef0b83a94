"""Submitting, finding, waiting for and reading a job."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from muster import Client, Job, MusterError, Role
from muster.client import contexts
from muster.client.contexts import Context, Contexts
from muster.client.submitting import Changes, Submission, from_text, prepare
from tests.unit.client.tiny_server import DROP, Answer, Asked, TinyServer, a_job, a_task, problem, sse

pytestmark = pytest.mark.fast

ID = a_job()["id"]


def test_flat_job_becomes_a_flat_spec() -> None:
    job = Job(name="x", command=["python", "t.py"], replicas=2, gpu=1, retries=3, time_limit="2h", hold=True)
    assert job.to_spec() == {
        "name": "x",
        "command": ["python", "t.py"],
        "replicas": 2,
        "resources": {"gpu": 1},
        "retry": {"max": 3},
        "timeLimit": "2h",
        "hold": True,
    }


def test_roles_become_roles() -> None:
    job = Job(name="x", roles={"ps": Role(command="a b", extra={"minFailed": 2}), "worker": Role(command="c", gpu=1)})
    assert job.to_spec()["roles"] == {
        "ps": {"replicas": 1, "command": "a b", "minFailed": 2},
        "worker": {"replicas": 1, "command": "c", "resources": {"gpu": 1}},
    }


def test_file_is_sent_as_it_was_written(server: TinyServer, tmp_path: Path) -> None:
    text = "name: x # mine\ncommand: ls\n"
    (tmp_path / "job.yaml").write_text(text)
    server.on("POST", "/jobs", Answer(201, a_job()))
    Client(server.url).submit(tmp_path / "job.yaml", overrides={"replicas": 2}, params={"lr": 0.1})
    assert server.asked[0].json == {"source": text, "set": {"replicas": 2}, "params": {"lr": 0.1}}


def test_package_folder_of_a_file_is_relative_to_it_and_sent_first(server: TinyServer, tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src/train.py").write_text("pass")
    (tmp_path / "job.yaml").write_text("name: x\npackage: ./src\ncommand: ls\n")
    digests: list[str] = []

    def put(asked: Any) -> Answer:
        digests.append(asked.path.rpartition("/")[2])
        return Answer(200, {"received": len(asked.body), "complete": True})

    from muster.client.packing import pack

    with pack(tmp_path / "src") as package:
        server.on("PUT", f"/packages/{package.digest}", put)
    server.on("POST", "/jobs", Answer(201, a_job()))
    Client(server.url).submit(tmp_path / "job.yaml")
    assert server.requests("POST", "/jobs")[0].json["package"] == digests[0] == package.digest


def test_package_that_is_a_digest_is_used_as_it_is() -> None:
    submission = from_text(f"package: {'a' * 64}\n", Path("/nowhere"), Changes())
    assert (submission.folder, submission.digest) == (None, "a" * 64)


@pytest.mark.parametrize(
    "text", ["command: package it\n", "package: [1]\n", "package: {\n", "- package\n", "roles: {package: ./x}\n"]
)
def test_what_only_looks_like_a_package_is_left_to_the_server(text: str) -> None:
    submission = from_text(text, Path("/nowhere"), Changes())
    assert submission.folder is None
    assert submission.body == {"source": text}


def test_package_can_be_set_on_the_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    submission = from_text("package: a\n", Path("/nowhere"), Changes({"package": "here", "name": "y"}))
    assert submission.folder == (tmp_path / "here").resolve()
    assert submission.body["set"] == {"name": "y"}


def test_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(MusterError, match=r"cannot read .*absent\.yaml"):
        prepare(tmp_path / "absent.yaml", Changes())


def test_job_is_found_by_the_beginning_of_its_id(server: TinyServer) -> None:
    server.on("GET", "/jobs", Answer(200, {"items": [a_job(), a_job(id="02other")], "nextCursor": None}))
    assert Client(server.url).job("01jobj").id == ID


def test_ambiguous_beginning_is_refused_with_the_candidates(server: TinyServer) -> None:
    server.on("GET", "/jobs", Answer(200, {"items": [a_job(id="01jobA"), a_job(id="01jobB")], "nextCursor": None}))
    with pytest.raises(MusterError) as caught:
        Client(server.url).job("01job")
    assert "01jobA (mnist), 01jobB (mnist)" in caught.value.hint


def test_unknown_job_is_told_in_the_servers_words(server: TinyServer) -> None:
    server.on("GET", "/jobs", Answer(200, {"items": [], "nextCursor": None}))
    server.on("GET", "/jobs/absent", problem(404, "not-found", "there is no job absent"))
    with pytest.raises(MusterError, match="there is no job absent"):
        Client(server.url).job("absent")


def test_last_is_the_newest_of_mine(server: TinyServer) -> None:
    server.on("GET", "/jobs", Answer(200, {"items": [a_job()], "nextCursor": "c"}))
    assert Client(server.url).job("@last").id == ID
    assert server.asked[0].query == {"owner": ["me"], "limit": ["1"]}


def test_name_with_odd_characters_is_one_path_segment(server: TinyServer) -> None:
    with pytest.raises(MusterError):
        Client(server.url).job("a/b?")
    assert server.asked[0].path == "/api/v1/jobs/a%2Fb%3F"


def test_jobs_are_read_page_by_page_up_to_the_limit(server: TinyServer) -> None:
    pages = [
        Answer(200, {"items": [a_job(id=f"{n}") for n in range(3)], "nextCursor": "next"}),
        Answer(200, {"items": [a_job(id=f"{n}") for n in range(3, 5)], "nextCursor": "more"}),
    ]
    server.on("GET", "/jobs", *pages)
    assert [job.id for job in Client(server.url).jobs(limit=5, state=["Running", "Held"])] == list("01234")
    assert [asked.query.get("cursor") for asked in server.asked] == [None, ["next"]]
    assert [asked.query["limit"] for asked in server.asked] == [["5"], ["2"]]
    assert server.asked[0].query["state"] == ["Running", "Held"]


def test_wait_returns_the_ended_job_and_survives_a_lost_server(server: TinyServer) -> None:
    server.on("GET", "/jobs/mnist", Answer(200, a_job()))
    ended = Answer(200, a_job(state="Succeeded"))
    server.on("GET", f"/jobs/{ID}/wait", Answer(200, a_job()), DROP, DROP, DROP, DROP, DROP, ended)
    assert Client(server.url).job("mnist").wait().ok


def test_wait_finds_the_server_at_its_new_address(server: TinyServer) -> None:
    elsewhere = TinyServer()
    elsewhere.on("GET", f"/jobs/{ID}/wait", Answer(200, a_job(state="Succeeded")))
    server.on("GET", "/jobs/mnist", Answer(200, a_job()))
    server.on("GET", f"/jobs/{ID}/wait", DROP)
    contexts.save(Contexts("local", {"local": Context(server.url)}))
    client = Client()
    notices: list[str] = []
    client.transport.on_notice = notices.append
    handle = client.job("mnist")
    server.stop()
    contexts.save(Contexts("local", {"local": Context(elsewhere.url)}))
    assert handle.wait().ok
    elsewhere.stop()
    assert notices == []  # it was found at the first retry


def test_wait_that_times_out_says_so(server: TinyServer) -> None:
    server.on("GET", "/jobs/mnist", Answer(200, a_job()))
    server.on("GET", f"/jobs/{ID}/wait", Answer(200, a_job()))
    with pytest.raises(TimeoutError, match="still Running"):
        Client(server.url).job("mnist").wait(timeout=0.02)


def test_logs_stream_until_the_end(server: TinyServer) -> None:
    server.on("GET", "/jobs/mnist", Answer(200, a_job()))
    pieces = [
        sse("log", {"task": "mnist-worker-0", "offset": 0, "text": "a\n"}, "1"),
        sse("end", {}, "2"),
    ]
    server.on("GET", f"/jobs/{ID}/logs", Answer(pieces=pieces))
    chunks = list(Client(server.url).job("mnist").logs(follow=True, tasks=["worker-0"], tail=5))
    assert [(chunk.task, chunk.text) for chunk in chunks] == [("mnist-worker-0", "a\n")]
    assert server.asked[-1].query == {"task": ["worker-0"], "tail": ["5"], "follow": ["true"]}


def test_what_comes_back_is_typed_and_keeps_the_original(server: TinyServer) -> None:
    server.on("GET", "/jobs/mnist", Answer(200, a_job(novel="field")))
    server.on("GET", f"/jobs/{ID}/tasks", Answer(200, {"items": [a_task(exitCode=3, state="Failed")]}))
    handle = Client(server.url).job("mnist")
    assert handle.view.started_at is not None
    assert handle.view.started_at.tzinfo is not None
    assert handle.view.raw["novel"] == "field"
    task = handle.tasks()[0]
    assert (task.short_name, task.exit_code, task.ended) == ("worker-0", 3, True)


def test_bulk_sends_specs_that_need_no_files_as_they_are(server: TinyServer) -> None:
    server.on("POST", "/jobs:bulk", Answer(201, {"items": [a_job()]}))
    Client(server.url).submit_many([Job(name="x", command="ls", package="b" * 64)])
    assert server.asked[0].json == {"specs": [{"name": "x", "command": "ls", "package": "b" * 64}]}


def test_bulk_names_the_file_of_each_problem(server: TinyServer, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("name: a\npriority: huge\n")
    problem = {"path": "jobs.1.priority", "message": "no", "hint": "", "line": 2}
    answer = {"code": "invalid", "detail": "1 of 2 jobs is wrong", "problems": [problem]}
    server.on("POST", "/jobs:bulk", Answer(422, answer))
    with pytest.raises(MusterError) as refused:
        Client(server.url).submit_many([{"name": "x", "command": "ls"}, tmp_path / "a.yaml"])
    assert [str(one) for one in refused.value.problems] == [f"{tmp_path}/a.yaml, line 2: priority: no"]
    assert [set(job) for job in server.asked[0].json["jobs"]] == [{"spec"}, {"source"}]


def an_event(seq: int) -> dict[str, Any]:
    return {"seq": seq, "at": None, "kind": "job.queued", "jobId": ID, "actor": None, "data": {}}


def test_events_are_paged_by_their_numbers(server: TinyServer) -> None:
    first = Answer(200, {"items": [an_event(1), an_event(2)], "nextCursor": "2"})
    server.on("GET", "/events", first, Answer(200, {"items": [an_event(3)], "nextCursor": None}))
    assert [event.seq for event in Client(server.url).events()] == [1, 2, 3]
    assert [asked.query.get("after") for asked in server.asked] == [None, ["2"]]


@pytest.mark.parametrize("newest", [0, 1, 2, 3, 7, 8, 1000])
def test_newest_event_is_found_without_reading_all(server: TinyServer, newest: int) -> None:
    def page(asked: Asked) -> Answer:
        after = int(asked.query["after"][0])
        return Answer(200, {"items": [], "nextCursor": str(after + 1) if after < newest else None})

    server.on("GET", "/events", page)
    assert Client(server.url).last_event() == newest
    assert len(server.asked) < 25


def test_log_that_is_gone_is_told(server: TinyServer) -> None:
    server.on("GET", "/jobs/mnist", Answer(200, a_job()))
    server.on("GET", f"/jobs/{ID}/logs", Answer(pieces=[sse("gone", {"detail": "the log has been removed"})]))
    with pytest.raises(MusterError, match="has been removed"):
        list(Client(server.url).job("mnist").logs())


def test_dry_run_sends_no_folder_but_says_if_it_cannot_be_packed(server: TinyServer, tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    submission = from_text("name: x\npackage: src\n", tmp_path, Changes({"replicas": 2}))
    server.on("POST", "/jobs", Answer(200, {"job": a_job(), "requests": [], "warnings": []}))
    Client(server.url).dry_run(submission)
    assert [asked.method for asked in server.asked] == ["POST"]
    assert server.asked[0].json["set"] == {"replicas": 2, "package": None}
    (tmp_path / "src/away").symlink_to("/etc")
    with pytest.raises(MusterError, match="leads out"):
        Client(server.url).dry_run(submission)


ABSENT = "name: x\ncomand: ls\npackage: src\ninputs: rows.csv\n"


@pytest.mark.parametrize("call", [Client.send, Client.dry_run])
def test_absent_folders_are_reported_together_with_all_that_the_server_finds(
    call: Callable[[Client, Submission], Any], server: TinyServer, tmp_path: Path
) -> None:
    found = {"path": "comand", "message": "unknown key", "hint": "did you mean command?", "line": 2}
    server.on("POST", "/jobs", problem(422, "invalid", "the job spec has 1 problem", problems=[found]))
    with pytest.raises(MusterError) as refused:
        call(Client(server.url), from_text(ABSENT, tmp_path, Changes()))
    assert refused.value.message == "the job spec has 3 problems"
    assert [str(one) for one in refused.value.problems] == [
        "line 2: comand: unknown key (did you mean command?)",
        f"line 3: package: {tmp_path / 'src'} is not a folder (`package` names the folder to send)",
        f"line 4: inputs: {tmp_path / 'rows.csv'} does not exist (paths are relative to the job file)",
    ]
    [asked] = server.asked
    assert asked.query == {"dryRun": ["true"]}
    assert asked.json["set"] == {"package": None, "inputs": []}


def test_a_job_that_could_never_run_is_one_of_the_problems(server: TinyServer, tmp_path: Path) -> None:
    server.on("POST", "/jobs", problem(422, "unplaceable", "this job can never run on lab", hint="ask for less"))
    with pytest.raises(MusterError) as refused:
        Client(server.url).send(from_text("name: x\npackage: src\n", tmp_path, Changes()))
    assert [one.message for one in refused.value.problems] == [
        "this job can never run on lab",
        f"{tmp_path / 'src'} is not a folder",
    ]


@pytest.mark.parametrize("answer", [Answer(200, {"job": a_job()}), problem(401, "not-authenticated", "who?")])
def test_an_absent_folder_alone_is_one_error(answer: Answer, server: TinyServer, tmp_path: Path) -> None:
    server.on("POST", "/jobs", answer)
    with pytest.raises(MusterError) as refused:
        Client(server.url).send(from_text("name: x\npackage: src\n", tmp_path, Changes()))
    assert refused.value.message == f"{tmp_path / 'src'} is not a folder"
    assert refused.value.hint == "`package` names the folder to send"
