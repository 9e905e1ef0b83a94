"""Requests that are wrong, repeated, too large or about many things at once."""

import hashlib
import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from tests.integration.api.calling import Caller, ok, problem
from tests.integration.api.people import People, new_user, unique

QUIET = {"command": "true", "hold": True}


@pytest.fixture(scope="module")
def me(people: People) -> Caller:
    """Somebody with no other jobs, so that lists can be compared whole."""
    return new_user(people.admin, "lister", password=None)


def test_pages_hold_every_job_once_newest_first(me: Caller) -> None:
    label = unique("page")
    made = [me.submit({"name": unique("page"), "labels": {"set": label}, **QUIET})["id"] for _ in range(7)]
    seen: list[str] = []
    cursor, pages = None, 0
    while True:
        query = {"label": f"set={label}", "limit": 3, **({"cursor": cursor} if cursor else {})}
        page = ok(me.get("/jobs", params=query))
        seen += [job["id"] for job in page["items"]]
        pages, cursor = pages + 1, page["nextCursor"]
        if cursor is None:
            break
    assert seen == made[::-1]
    assert pages == 3


def test_filters_choose_and_combine(me: Caller) -> None:
    one = me.submit({"name": unique("filter-one"), "labels": {"team": "red", "kind": "a"}, **QUIET})
    two = me.submit({"name": unique("filter-two"), "labels": {"team": "red", "kind": "b"}, **QUIET})
    ok(me.post(f"/jobs/{two['id']}/kill"), 202)

    def found(**query: object) -> set[str]:
        items = ok(me.get("/jobs", params={"text": "filter-", "owner": "me", **query}))["items"]
        return {job["id"] for job in items}

    both = {one["id"], two["id"]}
    assert found() == both
    assert found(state="Held") == {one["id"]}
    assert found(state="held,cancelled") == both
    assert found(state=["Held", "Cancelled"]) == both
    assert found(label="team=red") == both
    assert found(label=["team=red", "kind=b"]) == {two["id"]}
    assert found(cluster="local") == both
    assert found(cluster="elsewhere") == set()
    assert found(name=one["name"]) == {one["id"]}
    assert found(text="FILTER-TWO") == {two["id"]}
    assert found(text="filter_") == set()
    assert found(since="1h") == both
    assert found(until="1h") == set()
    assert found(since=two["createdAt"].replace("Z", "+00:00")) <= {two["id"]}
    assert found(since="2020-01-01", until="2999-01-01T00:00:00Z") == both


@pytest.mark.parametrize(
    "query",
    [
        {"cursor": "nonsense"},
        {"cursor": "!"},
        {"state": "Sleeping"},
        {"label": "novalue"},
        {"since": "yesterday"},
        {"since": "9" * 400},
        {"since": "9" * 400 + ":00:00"},
        {"until": "99999999-01-01"},
    ],
)
def test_a_filter_that_cannot_be_read_is_invalid(me: Caller, query: dict[str, str]) -> None:
    problem(me.get("/jobs", params=query), 422, "invalid")


def test_an_unknown_state_is_told_the_known_ones(me: Caller) -> None:
    told = problem(me.get("/jobs", params={"state": "Sleeping"}), 422, "invalid")
    assert "Queued, Held, Starting, Running, Stopping, Succeeded, Failed, Cancelled" in told["hint"]


@pytest.mark.parametrize("query", [{"limit": 0}, {"limit": 1001}, {"limit": "many"}, {"cursor": "x" * 1001}])
def test_a_parameter_outside_its_range_is_a_bad_request(me: Caller, query: dict[str, str]) -> None:
    told = problem(me.get("/jobs", params=query), 400, "bad-request")
    assert told["problems"][0]["path"] == f"query.{next(iter(query))}"


def test_a_repeated_request_key_answers_the_first_job(me: Caller) -> None:
    body, key = {"spec": {"name": unique("keyed"), **QUIET}}, {"Idempotency-Key": unique("key")}
    first = ok(me.post("/jobs", body, headers=key), 201)
    assert ok(me.post("/jobs", body, headers=key), 200)["id"] == first["id"]
    ok(me.post(f"/jobs/{first['id']}/kill"), 202)
    assert ok(me.post("/jobs", body, headers=key), 200)["id"] == first["id"]


def test_a_repeated_bulk_call_answers_the_first_ones_jobs(me: Caller) -> None:
    body = {"specs": [{"name": unique("keyed"), **QUIET}, {"name": unique("keyed"), **QUIET}]}
    key = {"Idempotency-Key": unique("key")}
    first = ok(me.post("/jobs:bulk", body, headers=key), 201)["items"]
    again = ok(me.post("/jobs:bulk", body, headers=key), 200)["items"]
    assert [job["id"] for job in again] == [job["id"] for job in first]


def test_a_repeated_retry_answers_the_first_ones_job_by_name_too(me: Caller) -> None:
    name, key = unique("keyed"), {"Idempotency-Key": unique("key")}
    old = me.submit({"name": name, **QUIET})
    ok(me.post(f"/jobs/{old['id']}/kill"), 202)
    first = ok(me.post(f"/jobs/{name}/retry", headers=key), 201)
    assert first["id"] != old["id"]
    assert ok(me.post(f"/jobs/{name}/retry", headers=key), 200)["id"] == first["id"]


def test_a_request_key_is_one_users_own(me: Caller, people: People) -> None:
    key = {"Idempotency-Key": unique("key")}
    mine = ok(me.post("/jobs", {"spec": {"name": unique("keyed"), **QUIET}}, headers=key), 201)
    theirs = ok(people.other.post("/jobs", {"spec": {"name": unique("keyed"), **QUIET}}, headers=key), 201)
    assert mine["id"] != theirs["id"]


def test_a_request_key_sent_many_times_at_once_makes_one_job(me: Caller) -> None:
    body, key = {"spec": {"name": unique("keyed"), **QUIET}}, {"Idempotency-Key": unique("key")}
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: me.post("/jobs", body, headers=key), range(8)))
    assert sorted(answer.status_code for answer in answers) == [200] * 7 + [201]
    assert len({answer.json()["id"] for answer in answers}) == 1


def test_a_name_is_taken_until_its_job_has_ended(me: Caller) -> None:
    spec = {"name": unique("taken"), **QUIET}
    first = me.submit(spec)
    problem(me.post("/jobs", {"spec": spec}), 409, "conflict")
    ok(me.post(f"/jobs/{first['id']}/kill"), 202)
    second = me.submit(spec)
    assert ok(me.get(f"/jobs/{spec['name']}"))["id"] == second["id"]


def test_bulk_is_all_or_none_and_says_which_spec_is_wrong(me: Caller) -> None:
    names = [unique("bulk") for _ in range(4)]
    specs = [{"name": name, **QUIET} for name in names]
    bad = [specs[0], {**specs[1], "comand": "true"}, specs[2], {**specs[3], "replicas": -1}]
    told = problem(me.post("/jobs:bulk", {"specs": bad}), 422, "invalid")
    assert {item["path"] for item in told["problems"]} == {"specs.1.comand", "specs.3.replicas"}
    assert not [job for job in ok(me.get("/jobs", params={"text": "bulk-"}))["items"] if job["name"] in names]
    made = ok(me.post("/jobs:bulk", {"specs": specs}), 201)["items"]
    assert [job["name"] for job in made] == names


def test_bulk_with_a_name_that_is_taken_makes_none(me: Caller) -> None:
    taken, fresh = unique("bulk"), unique("bulk")
    me.submit({"name": taken, **QUIET})
    specs = [{"name": fresh, **QUIET}, {"name": taken, **QUIET}]
    problem(me.post("/jobs:bulk", {"specs": specs}), 409, "conflict")
    problem(me.get(f"/jobs/{fresh}"), 404, "not-found")


def test_a_dry_run_shows_the_exact_environment_and_starts_nothing(me: Caller) -> None:
    name = unique("dry")
    spec = {
        "name": name,
        "framework": "torch",
        "env": {"EPOCHS": 3},
        "params": {"lr": 0.5},
        "command": ["train", "--lr", "${params.lr}"],
        "replicas": 2,
    }
    shown = ok(me.post("/jobs", {"spec": spec}, params={"dryRun": True}))
    assert [request["argv"] for request in shown["requests"]] == [["train", "--lr", "0.5"]] * 2
    first, second = (request["env"] for request in shown["requests"])
    assert (first["EPOCHS"], first["RANK"], second["RANK"], second["WORLD_SIZE"]) == ("3", "0", "1", "2")
    assert first["MASTER_PORT"] == second["MASTER_PORT"]
    assert [request["container"] for request in shown["requests"]] == [None, None]
    assert first["MUSTER_JOB_NAME"] == name
    assert first["MUSTER_OWNER"] == me.name
    problem(me.get(f"/jobs/{name}"), 404, "not-found")
    assert name not in me.get("/events", params={"kind": "audit."}).text


@pytest.mark.parametrize("wrong", [{"cluster": "nowhere"}, {"comand": "x"}, {"secrets": [{"name": "no", "env": "A"}]}])
def test_what_has_no_effect_is_told_beside_a_refusal_too(me: Caller, wrong: dict[str, Any]) -> None:
    source = """
apiVersion: batch.paddlepaddle.org/v1
kind: PaddleJob
metadata: {name: refused}
spec:
  cleanPodPolicy: OnCompletion
  worker: {replicas: 1, template: {spec: {containers: [{name: a, command: [train]}]}}}
"""
    single = problem(me.post("/jobs", {"source": source, "set": wrong}), 422, "invalid")
    (warning,) = single["warnings"]
    assert warning.startswith("line 6: spec.cleanPodPolicy: has no effect")
    several = problem(me.post("/jobs:bulk", {"jobs": [{"source": source, "set": wrong}]}), 422, "invalid")
    assert several["warnings"] == [f"refused: {warning}"]


def test_names_that_nobody_knows_are_told_beside_all_other_problems(me: Caller) -> None:
    source = "name: x\ncluster: lap\ncomand: python\nsecrets:\n- {name: wandb, env: KEY}\n- {name: '!', env: B}\n"
    told = problem(me.post("/jobs", {"source": source}), 422, "invalid")
    assert [(item["path"], item["line"]) for item in told["problems"]] == [
        ("command", 1),
        ("cluster", 2),
        ("comand", 3),
        ("secrets[0].name", 5),
        ("secrets[1].name", 6),
    ]
    assert told["detail"] == "the job spec has 5 problems"


def test_all_problems_of_a_source_are_told_at_once_with_their_lines(me: Caller) -> None:
    source = "name: bad name\ncomand: true\nroles:\n  worker:\n    replicas: many\n    command: run\n"
    told = problem(me.post("/jobs", {"source": source}), 422, "invalid")
    assert {(item["path"], item["line"]) for item in told["problems"]} == {
        ("name", 1),
        ("comand", 2),
        ("roles.worker.replicas", 5),
    }


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'{"spec": {"name": "a"}, "extra": 1}',
        b"[" * 100_000,
        b"\xff\xfe",
        b'{"a": "\\ud800"}',
    ],
    ids=["empty", "cut", "list", "null", "extra", "deep", "not-utf8", "surrogate-key"],
)
def test_a_body_that_is_not_well_formed_is_a_bad_request(me: Caller, content: bytes) -> None:
    answer = me.send("POST", "/jobs", content=content, headers={"Content-Type": "application/json"})
    problem(answer, 400, "bad-request")


@pytest.mark.parametrize(
    "spec",
    [
        '{"name": "%s", "command": "true", "params": {"lr": NaN}}',
        '{"name": "%s", "command": "true", "params": {"lr": Infinity}}',
        '{"name": "%s", "command": "true", "params": {"lr": 1e999}}',
        '{"name": "%s", "command": "echo \\ud800"}',
        '{"name": "%s", "command": ["echo", "\\ud800"]}',
        '{"name": "%s", "command": "true", "description": "\\ud800"}',
        '{"name": "%s", "command": "true", "labels": {"a": "\\ud800"}}',
        '{"name": "%s", "command": "true", "env": {"A": "\\u0000"}}',
        '{"name": "%s", "command": ["a\\u0000b"]}',
        '{"name": "%s", "command": "true", "labels": {"a": "\\u0000"}}',
        '{"name": "%s", "command": "true", "timeLimit": 1e300}',
        '{"name": "%s", "command": "true", "timeLimit": "' + "9" * 400 + ':00:00"}',
        '{"name": "%s", "command": "true", "resources": {"memory": "' + "9" * 400 + '"}}',
        '{"name": "%s", "command": "true", "resources": {"cpu": NaN}}',
        '{"name": "%s", "command": "true", "\\ud800": 1}',
    ],
)
def test_a_value_that_no_machine_can_hold_is_refused_or_kept_whole(me: Caller, spec: str) -> None:
    name = unique("odd")
    held = (spec % name).replace('"command": "true"', '"command": "true", "hold": true')
    content = f'{{"spec": {held}}}'
    answer = me.send("POST", "/jobs", content=content.encode(), headers={"Content-Type": "application/json"})
    assert answer.status_code in (201, 400, 422), answer.text
    if answer.status_code == 201:
        ok(me.get(f"/jobs/{name}/spec"))
        ok(me.get("/jobs", params={"name": name}))
        ok(me.get(f"/jobs/{name}/events"))


def test_a_body_over_the_limit_is_too_large(me: Caller) -> None:
    body = json.dumps({"source": "x" * (9 << 20)}).encode()
    headers = {"Content-Type": "application/json"}
    problem(me.send("POST", "/jobs", content=body, headers=headers), 413, "too-large")
    digest = hashlib.sha256(body).hexdigest()
    problem(me.send("PUT", f"/packages/{digest}", params={"size": len(body)}, content=body), 413, "too-large")


def test_a_body_of_unknown_length_over_the_limit_is_too_large(me: Caller) -> None:
    pieces = (b"x" * (1 << 20) for _ in range(10))
    problem(me.send("POST", "/jobs", content=pieces, headers={"Content-Type": "application/json"}), 413, "too-large")


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/api/v1/nothing", 404, "not-found"),
        ("GET", "/nothing", 404, "not-found"),
        ("GET", "/../../etc/passwd", 404, "not-found"),
        ("PUT", "/api/v1/jobs", 405, "method-not-allowed"),
        ("GET", "/api/v1/jobs/no-such-job", 404, "not-found"),
        ("GET", "/api/v1/nodes/no-such-node", 404, "not-found"),
        ("GET", "/api/v1/packages/short", 422, "invalid"),
        ("DELETE", "/api/v1/tokens/none", 404, "not-found"),
        ("DELETE", "/api/v1/users/none", 404, "not-found"),
    ],
)
def test_what_is_not_there_is_told_as_a_problem(people: People, method: str, path: str, status: int, code: str) -> None:
    headers = {"Authorization": f"Bearer {people.admin.token}"}
    answer = httpx.request(method, f"{people.server.url}{path}", headers=headers, verify=False)
    problem(answer, status, code)


@pytest.mark.parametrize("action", ["hold", "resume", "kill", "retry"])
def test_an_action_at_the_wrong_moment_is_a_conflict(me: Caller, action: str) -> None:
    job = me.submit({"name": unique("moment"), **QUIET})["id"]
    if action != "retry":
        ok(me.post(f"/jobs/{job}/kill"), 202)
    problem(me.post(f"/jobs/{job}/{action}"), 409, "conflict")


def test_an_open_job_cannot_be_deleted_and_an_ended_one_is_gone(me: Caller) -> None:
    job = me.submit({"name": unique("deleted"), **QUIET})["id"]
    problem(me.send("DELETE", f"/jobs/{job}"), 409, "conflict")
    ok(me.post(f"/jobs/{job}/kill"), 202)
    ok(me.send("DELETE", f"/jobs/{job}"), 204)
    problem(me.get(f"/jobs/{job}"), 404, "not-found")


def test_a_job_larger_than_every_node_is_refused_with_the_largest_that_fits(me: Caller) -> None:
    spec = {"name": unique("huge"), "command": "true", "resources": {"cpu": 100_000}}
    told = problem(me.post("/jobs", {"spec": spec}), 422, "unplaceable")
    assert told["hint"]


@pytest.mark.parametrize(
    "body",
    [
        {"spec": {"name": "../x", "command": "true"}},
        {"spec": {"command": 3}},
        {"spec": QUIET, "source": "name: a"},
        {"specs": []},
        {},
        [],
    ],
)
def test_submission_is_refused_in_the_same_words_with_and_without_a_query(me: Caller, body: object) -> None:
    plain, declared = me.post("/jobs", body), me.post("/jobs", body, params={"dryRun": "false"})
    assert plain.status_code in (400, 422)
    assert (plain.status_code, plain.json()) == (declared.status_code, declared.json())


def test_submission_is_answered_alike_with_and_without_a_query(me: Caller) -> None:
    plain = me.post("/jobs", {"spec": {"name": unique("alike"), **QUIET}})
    declared = me.post("/jobs", {"spec": {"name": unique("alike"), **QUIET}}, params={"dryRun": "false"})
    assert plain.status_code == declared.status_code == 201
    assert plain.headers.keys() == declared.headers.keys()
    assert plain.json().keys() == declared.json().keys()
    nobody = Caller(me.server)
    refused = [nobody.post("/jobs", {"spec": QUIET}, params=query) for query in ({}, {"dryRun": "false"})]
    assert refused[0].status_code == refused[1].status_code == 401
    assert refused[0].json() == refused[1].json()


@pytest.mark.parametrize("headers", [{}, {"Idempotency-Key": "long-source"}])
def test_a_job_file_that_is_too_long_is_refused_with_the_limit(me: Caller, headers: dict[str, str]) -> None:
    answer = me.post("/jobs", json={"source": "name: a\ncommand: " + "x" * (1 << 20)}, headers=headers)
    [found] = problem(answer, 400, "bad-request")["problems"]
    assert found["message"] == "must have at most 1048576 characters"
    assert "files of its package" in found["hint"]


def test_a_request_key_tells_which_jobs_it_made_to_its_owner_only(people: People, me: Caller) -> None:
    key, many = unique("key"), unique("key")
    headers = {"Idempotency-Key": key}
    job = ok(me.post("/jobs", {"spec": {"name": unique("keyed"), **QUIET}}, headers=headers), 201)
    specs = [{"name": unique("keyed"), **QUIET} for _ in range(2)]
    bulk = ok(me.post("/jobs:bulk", {"specs": specs}, headers={"Idempotency-Key": many}), 201)["items"]
    assert [item["id"] for item in ok(me.get(f"/requests/{key}"))["items"]] == [job["id"]]
    assert [item["id"] for item in ok(me.get(f"/requests/{many}"))["items"]] == [item["id"] for item in bulk]
    for stranger in (people.other, people.admin):
        problem(stranger.get(f"/requests/{key}"), 404, "not-found")
    problem(me.get(f"/requests/{unique('key')}"), 404, "not-found")


def test_a_server_tells_the_id_of_its_store(me: Caller) -> None:
    store = ok(me.get("/whoami"))["server"]["store"]
    assert len(store) == 16
    assert ok(me.get("/whoami"))["server"]["store"] == store
