"""What a job was asked to do: where values come from, how two jobs differ, and what a task is started with."""

import pytest

from tests.integration.api.calling import Caller, ok, problem
from tests.integration.api.people import People, unique
from tests.parts.server import MusterServer, polls


@pytest.fixture
def me(people: People) -> Caller:
    return people.owner


def test_a_spec_comes_as_yaml_that_gives_the_same_job(me: Caller) -> None:
    spec = {"command": "echo ${params.word}\necho two", "params": {"word": "hi"}, "hold": True, "env": {"A": "1"}}
    job = me.submit({"name": unique("spec"), **spec})["id"]
    first = ok(me.get(f"/jobs/{job}/spec"))
    again = ok(me.post("/jobs", {"source": first["yaml"].replace("name: ", "name: second-", 1)}), 201)
    second = ok(me.get(f"/jobs/{again['id']}/spec"))
    assert {**second["spec"], "name": ""} == {**first["spec"], "name": ""}


def test_sources_name_params_and_defaults_and_nothing_else(me: Caller) -> None:
    spec = {"command": "echo ${params.word}", "params": {"word": "hi"}, "env": {"A": "1"}, "hold": True}
    job = me.submit({"name": unique("spec"), **spec, "timeLimit": "1h"})["id"]
    sources = {one["path"]: one for one in ok(me.get(f"/jobs/{job}/spec"))["sources"]}
    assert sources["roles.worker.command"]["source"] == "params"
    assert "${params.word}" in sources["roles.worker.command"]["detail"]
    for path in ("priority", "grace", "roles.worker.replicas", "roles.worker.resources.cpu"):
        assert sources[path]["source"] == "muster", path
    assert not {"name", "env.A", "timeLimit", "params.word"} & set(sources)


def test_sources_name_the_virtual_cluster_that_gave_a_value(own_server: MusterServer) -> None:
    me = Caller(own_server, own_server.token)
    file = own_server.home / "clusters.d" / "lab.yaml"
    file.write_text("name: lab\ndefaults: {env: {GIVEN: '1', BOTH: '1'}, resources: {cpu: 500m}}\n")
    for _ in polls(30):
        if me.get("/virtual-clusters/lab").status_code == 200:
            break
    job = me.submit({"name": "given", "command": "true", "cluster": "lab", "env": {"BOTH": "2"}, "hold": True})["id"]
    sources = {one["path"]: (one["source"], one["detail"]) for one in ok(me.get(f"/jobs/{job}/spec"))["sources"]}
    assert sources["env.GIVEN"] == sources["roles.worker.resources.cpu"] == ("virtual-cluster", "lab")
    assert "env.BOTH" not in sources


def test_two_jobs_are_compared_by_those_who_may_read_both(people: People) -> None:
    me = people.owner
    first, second = unique("spec"), unique("spec")
    me.submit({"name": first, "command": "true", "env": {"A": "1"}, "hold": True})
    other = me.submit({"name": second, "command": "true", "env": {"A": "2"}, "priority": "high", "hold": True})["id"]
    diff = ok(me.get(f"/jobs/{first}/diff?with={second}"))
    assert diff["other"] == other
    assert {item["path"]: (item["mine"], item["other"]) for item in diff["items"]} == {
        "name": (first, second),
        "env.A": ("1", "2"),
        "priority": ("normal", "high"),
    }
    theirs = people.other.submit({"name": unique("spec"), "command": "true", "hold": True})["id"]
    problem(me.get(f"/jobs/{first}/diff?with={theirs}"), 403, "forbidden")
    problem(me.get(f"/jobs/{first}/diff?with=nothing-at-all"), 404, "not-found")


def test_a_token_of_one_job_reads_and_submits_no_other(me: Caller) -> None:
    mine, other = (me.submit({"name": unique("spec"), "command": "true"})["id"] for _ in range(2))
    me.server.wait(mine)
    made = ok(me.post("/tokens", {"name": unique("one"), "scope": "submit", "job": mine}), 201)
    limited = Caller(me.server, made["secret"])
    problem(limited.get(f"/jobs/{mine}/diff?with={other}"), 403, "forbidden")
    problem(limited.get(f"/jobs/{mine}/diff?with=nothing-at-all"), 403, "forbidden")
    assert ok(limited.get(f"/jobs/{mine}/diff?with={mine}"))["items"] == []
    for body in ({"spec": {"command": "id"}}, {"source": "command: id"}, {"set": {"command": "id"}}):
        problem(limited.post(f"/jobs/{mine}/retry", body), 403, "forbidden")
        problem(limited.post(f"/jobs/{mine}/change", body), 403, "forbidden")
    problem(limited.post(f"/jobs/{mine}/retry", {"params": {"lr": 1}}), 403, "forbidden")
    ok(limited.post(f"/jobs/{mine}/retry", {}), 201)


def test_the_environment_is_what_the_task_was_started_with(me: Caller) -> None:
    command = "env; test $MUSTER_ATTEMPT = 2"
    job = me.submit(
        {"name": unique("env"), "command": command, "replicas": 2, "env": {"MINE": "a b"}, "retry": {"max": 1}}
    )["id"]
    me.server.wait(job)
    for attempt in (1, 2):
        found = ok(me.get(f"/jobs/{job}/tasks/worker-1/environment?attempt={attempt}"))
        log = ok(me.get(f"/jobs/{job}/logs/lines?worker=worker-1&attempt={attempt}&count=5000"))
        printed = dict(line["text"].partition("=")[::2] for line in log["lines"])
        assert (found["attempt"], found["worker"], found["commandLine"]) == (attempt, "worker-1", command)
        assert found["env"]["MINE"] == "a b"
        assert found["env"]["MUSTER_ATTEMPT"] == str(attempt)
        assert {name: printed.get(name) for name in found["env"]} == found["env"]
    problem(me.get(f"/jobs/{job}/tasks/worker-7/environment"), 404, "not-found")
    held = me.submit({"name": unique("env"), "command": "true", "hold": True})["id"]
    problem(me.get(f"/jobs/{held}/tasks/worker-0/environment"), 404, "not-found")


def test_values_of_secrets_are_masked(me: Caller) -> None:
    name = unique("secret")
    ok(me.send("PUT", f"/secrets/{name}", content=b"hush-hush"), 201)
    job = me.submit({"name": unique("env"), "command": "true", "secrets": [{"name": name, "env": "KEY"}]})["id"]
    me.server.wait(job)
    answer = me.get(f"/jobs/{job}/tasks/worker-0/environment")
    assert ok(answer)["env"]["KEY"] == "***"
    assert "hush-hush" not in answer.text
