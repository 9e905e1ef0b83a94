"""MLflow's own client, which reports to this server unchanged: from outside, and from a job to the run of the job."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import httpx
import httpx2
import pytest

import muster
from tests.integration.api.calling import Caller, ok, problem
from tests.integration.api.people import People, make_people
from tests.parts.server import MusterServer, running_server

API = "/api/2.0/mlflow"
QUIET = {"MLFLOW_DISABLE_TELEMETRY": "true", "DO_NOT_TRACK": "true", "GIT_PYTHON_REFRESH": "quiet"}
"""The client asks nobody else."""
RUN_WITHIN_S = 180


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MusterServer]:
    with running_server(tmp_path_factory.mktemp("mlflow") / "home") as running:
        yield running


@pytest.fixture(scope="module")
def people(server: MusterServer) -> People:
    return make_people(server)


def ran(who: Caller, tmp_path: Path, lines: str) -> Any:
    """What a program of this user prints as JSON in its last line."""
    env = {**os.environ, **QUIET, "MLFLOW_TRACKING_URI": who.server.url, "MLFLOW_TRACKING_TOKEN": who.token}
    done = subprocess.run(
        [sys.executable, "-c", f"import json, mlflow\nfrom mlflow import MlflowClient\n{lines}"],
        cwd=tmp_path,
        env={**env, "PYTHONPATH": ""},
        capture_output=True,
        text=True,
        timeout=RUN_WITHIN_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.strip().splitlines()[-1])


def asked(who: Caller, method: str, path: str, body: Any = None, **query: Any) -> tuple[int, Any]:
    headers = {"Authorization": f"Bearer {who.token}"}
    answer = httpx.request(method, f"{who.server.url}{API}{path}", json=body, params=query, headers=headers, timeout=60)
    return answer.status_code, answer.json()


def begun(who: Caller, **more: Any) -> str:
    status, answer = asked(who, "POST", "/runs/create", {"experiment_id": "0", **more})
    assert status == 200, answer
    return str(answer["run"]["info"]["run_id"])


def experiments(who: Caller, **query: Any) -> list[Mapping[str, Any]]:
    status, found = who.server.call("GET", f"/api/v1/experiments?{'&'.join(f'{k}={v}' for k, v in query.items())}")
    assert status == 200, found
    return list(found["items"])


REPORTS = """
mlflow.set_experiment("nets")
with mlflow.start_run(run_name="first one"):
    mlflow.log_params({"lr": 0.1, "opt": "adam"})
    for step in range(5):
        mlflow.log_metric("loss", 1 / (step + 1), step=step)
    mlflow.log_metrics({"acc": 0.9, "odd": float("nan")}, step=4)
    mlflow.set_tags({"team": "a", "gone": "1"})
    mlflow.delete_tag("gone")
try:
    with mlflow.start_run():
        mlflow.log_metric("loss", 0.05)
        raise ValueError
except ValueError:
    pass
client = MlflowClient()
nets = client.get_experiment_by_name("nets").experiment_id
def found(text, **more):
    return [[run.info.status, run.data.metrics["loss"]] for run in client.search_runs([nets], text, **more)]
(first,) = client.search_runs([nets], "params.opt = 'adam'")
print(json.dumps({
    "id": first.info.run_id,
    "name": first.info.run_name,
    "params": first.data.params,
    "team": [first.data.tags["team"], first.data.tags.get("gone")],
    "odd": repr(first.data.metrics["odd"]),
    "curve": [[one.step, one.value] for one in client.get_metric_history(first.info.run_id, "loss")],
    "low": found("metrics.loss < 0.1"),
    "failed": found("attributes.status = 'FAILED'"),
    "named": found("attributes.run_name ILIKE 'FIRST%' and tags.team != 'b'"),
    "sorted": found("", order_by=["metrics.loss DESC"]),
    "page": found("", max_results=1, order_by=["metrics.loss ASC"]),
}))
"""


def test_a_program_outside_of_muster_reports_and_finds_its_runs(people: People, tmp_path: Path) -> None:
    told = ran(people.owner, tmp_path, REPORTS)
    assert told["name"] == "first one"
    assert told["params"] == {"lr": "0.1", "opt": "adam"}
    assert told["team"] == ["a", None]
    assert told["odd"] == "nan"
    assert told["curve"] == [[step, 1 / (step + 1)] for step in range(5)]
    assert told["low"] == told["failed"] == told["page"] == [["FAILED", 0.05]]
    assert told["named"] == [["FINISHED", 0.2]]
    assert told["sorted"] == [["FINISHED", 0.2], ["FAILED", 0.05]]
    (run,) = experiments(people.admin, job=told["id"])
    assert (run["name"], run["state"], run["cluster"]) == ("first-one", "Succeeded", "elsewhere")
    assert run["params"]["lr"] == "0.1"
    assert run["metrics"]["acc"]["last"] == 0.9


DATASETS = """
from mlflow.data.http_dataset_source import HTTPDatasetSource
from mlflow.data.meta_dataset import MetaDataset
with mlflow.start_run() as run:
    for part in ("train", "test"):
        source = HTTPDatasetSource(f"http://data.example/{part}.csv")
        mlflow.log_input(MetaDataset(source, name="wine", digest=part), context=part)
    mlflow.log_input(MetaDataset(HTTPDatasetSource("http://data.example/" + "x" * 9000), digest="long"))
    mlflow.set_tag("dataset.own", '{"name": 3}')
inputs = mlflow.get_run(run.info.run_id).inputs.dataset_inputs
print(json.dumps({
    "id": run.info.run_id,
    "found": sorted([one.dataset.name, one.dataset.digest, [tag.value for tag in one.tags]] for one in inputs),
    "source": sorted(mlflow.data.get_source(one).url for one in inputs if one.tags),
}))
"""


def test_the_data_of_a_run_is_known_with_it(people: People, tmp_path: Path) -> None:
    told = ran(people.owner, tmp_path, DATASETS)
    assert told["found"] == [["dataset", "long", []], ["wine", "test", ["test"]], ["wine", "train", ["train"]]]
    assert told["source"] == ["http://data.example/test.csv", "http://data.example/train.csv"]
    (run,) = experiments(people.admin, job=told["id"])
    assert "http://data.example/train.csv" in run["tags"]["dataset.wine.train"]


def test_a_job_reports_to_its_own_run_and_to_nothing_else(server: MusterServer, tmp_path: Path) -> None:
    lines = (
        "import json, mlflow, os\n"
        "mlflow.set_experiment('of any name')\n"
        "with mlflow.start_run() as run:\n"
        "    mlflow.log_param('lr', 0.1); mlflow.log_param('depth', 3); mlflow.log_param('depth', 3.0)\n"
        "    mlflow.log_param('batch', 32.0); mlflow.log_param('opt', 'sgd'); mlflow.log_params({'opt': 'lion'})\n"
        "    for step in range(3): mlflow.log_metric('loss', step, step=step)\n"
        "with mlflow.start_run() as again:\n"
        "    assert again.info.run_id == run.info.run_id == os.environ['MUSTER_JOB_ID']\n"
        "try:\n"
        "    mlflow.MlflowClient().create_experiment('another')\n"
        "except mlflow.MlflowException as error:\n"
        "    print(error.error_code)\n"
        f"open({str(tmp_path / 'token')!r}, 'w').write(os.environ['MLFLOW_TRACKING_TOKEN'])\n"
        "print(os.environ['MLFLOW_TRACKING_TOKEN'])\n"
    )
    tmp_path.chmod(0o777)
    env = {"MLFLOW_TRACKING_URI": "muster", **QUIET}
    spec = {
        "name": "net",
        "command": [sys.executable, "-c", lines],
        "env": env,
        "params": {"lr": 0.1, "batch": 32, "opt": "adam"},
    }
    job = server.wait(server.submit(spec)["id"])
    log = server.call("GET", f"/api/v1/jobs/{job['id']}/logs")[1]
    assert job["state"] == "Succeeded", log
    token = (tmp_path / "token").read_text()
    assert token.startswith("mrt_")
    assert token not in str(log)
    assert "PERMISSION_DENIED" in str(log)
    found = server.call("GET", f"/api/v1/experiments?job={job['id']}")[1]
    assert found["items"][0]["params"] == {"lr": 0.1, "batch": 32, "opt": "adam", "depth": "3"}
    assert found["items"][0]["tags"]["logged.opt"] == "lion"
    assert found["items"][0]["metrics"]["loss"]["last"] == 2
    gone = httpx.get(
        f"{server.url}{API}/runs/get", params={"run_id": job["id"]}, headers={"Authorization": f"Bearer {token}"}
    )
    assert (gone.status_code, gone.json()["error_code"]) == (401, "UNAUTHENTICATED")


def test_a_job_that_does_not_ask_for_it_gets_no_variables_of_mlflow(server: MusterServer) -> None:
    job = server.wait(server.submit({"name": "plain", "command": "env | grep MLFLOW"})["id"])
    assert job["state"] == "Failed"


def test_nothing_of_a_run_outside_of_muster_runs_here(people: People) -> None:
    run = begun(people.owner, run_name="far away")
    told = problem(people.owner.post(f"/jobs/{run}/stacks"), 409, "conflict")["detail"]
    assert "was made outside of Muster, and nothing of it runs here" in told
    orders: dict[str, Any] = {"exec": {"command": ["true"]}, "attach": {}, "port-forward": {"port": 80}}
    headers = {"Authorization": f"Bearer {people.owner.token}"}
    for verb, order in orders.items():
        address = f"{people.owner.server.url}/api/v1/jobs/{run}/{verb}"
        with httpx2.Client(timeout=60) as client, client.websocket(address, headers=headers) as socket:
            socket.send_text(json.dumps(order))
            last: Any = socket.receive()
        end = json.loads(last.data)
        assert (end["type"], end["status"], end["detail"]) == ("failed", 409, told), verb


def test_runs_are_those_of_their_owner_and_of_admins(people: People) -> None:
    run = begun(people.owner, run_name="mine")
    point = {"run_id": run, "key": "loss", "value": 1, "timestamp": 1_700_000_000_000}
    for who, status in ((people.owner, 200), (people.other, 403), (people.admin, 200)):
        assert asked(who, "GET", "/runs/get", run_id=run)[0] == status
        assert asked(who, "POST", "/runs/log-metric", point)[0] == status
        assert asked(who, "POST", "/runs/delete", {"run_id": run})[0] == status
        assert asked(who, "POST", "/runs/restore", {"run_id": run})[0] == status
    found = asked(people.other, "POST", "/runs/search", {"experiment_ids": ["0"]})[1]["runs"]
    assert run not in [one["info"]["run_id"] for one in found]


def test_experiments_are_those_of_their_owner(people: People) -> None:
    made = asked(people.owner, "POST", "/experiments/create", {"name": "private one"})[1]["experiment_id"]
    assert asked(people.other, "GET", "/experiments/get", experiment_id=made)[0] == 404
    assert asked(people.other, "GET", "/experiments/get-by-name", experiment_name="private one")[0] == 404
    assert asked(people.other, "POST", "/runs/create", {"experiment_id": made})[0] == 404
    assert asked(people.other, "POST", "/experiments/create", {"name": "private one"})[0] == 200
    status, answer = asked(people.owner, "POST", "/experiments/create", {"name": "private one"})
    assert (status, answer["error_code"]) == (400, "RESOURCE_ALREADY_EXISTS")
    assert asked(people.owner, "POST", "/experiments/delete", {"experiment_id": made})[0] == 200
    assert asked(people.owner, "POST", "/runs/create", {"experiment_id": made})[0] == 400
    assert asked(people.owner, "POST", "/experiments/restore", {"experiment_id": made})[0] == 200
    found = asked(people.owner, "POST", "/experiments/search", {"filter": "name LIKE 'private%'"})[1]["experiments"]
    assert [one["experiment_id"] for one in found] == [made]


def test_what_is_sent_again_is_stored_once(people: People) -> None:
    same = {"start_time": 1_700_000_000_000, "run_name": "again"}
    run = begun(people.owner, **same)
    assert begun(people.owner, **same) == run
    batch = {
        "run_id": run,
        "metrics": [
            {"key": f"m{n % 100}", "value": n, "timestamp": 1_700_000_000_000 + n, "step": n // 100} for n in range(900)
        ],
        "params": [{"key": f"p{n}", "value": str(n)} for n in range(50)],
        "tags": [{"key": f"t{n}", "value": str(n)} for n in range(50)],
    }
    for _ in range(2):
        assert asked(people.owner, "POST", "/runs/log-batch", batch) == (200, {})
    history = asked(people.owner, "GET", "/metrics/get-history", run_id=run, metric_key="m7")[1]["metrics"]
    assert [one["step"] for one in history] == list(range(9))
    first = asked(people.owner, "GET", "/metrics/get-history", run_id=run, metric_key="m7", max_results=4)[1]
    assert (len(first["metrics"]), first["next_page_token"]) == (4, "4")


WRONG: list[tuple[str, str, Any, int, str]] = [
    ("POST", "/runs/create", [1], 400, "INVALID_PARAMETER_VALUE"),
    ("POST", "/runs/create", {"run_name": "a\0b"}, 400, "INVALID_PARAMETER_VALUE"),
    ("POST", "/runs/create", {"start_time": 10**30}, 400, "INVALID_PARAMETER_VALUE"),
    ("POST", "/runs/create", {"experiment_id": "\0"}, 404, "RESOURCE_DOES_NOT_EXIST"),
    ("POST", "/runs/log-metric", {}, 400, "INVALID_PARAMETER_VALUE"),
    (
        "POST",
        "/runs/log-metric",
        {"run_id": "a\0", "key": "a", "value": 1, "timestamp": 1},
        404,
        "RESOURCE_DOES_NOT_EXIST",
    ),
    ("POST", "/experiments/create", {"name": " "}, 400, "INVALID_PARAMETER_VALUE"),
    ("POST", "/experiments/create", {"name": "Default"}, 400, "RESOURCE_ALREADY_EXISTS"),
    ("POST", "/experiments/delete", {"experiment_id": "0"}, 400, "INVALID_PARAMETER_VALUE"),
    ("POST", "/runs/search", {"experiment_ids": ["0"], "filter": "metrics.loss <"}, 400, "INVALID_PARAMETER_VALUE"),
    ("POST", "/runs/search", {"experiment_ids": ["0"], "page_token": "x"}, 400, "INVALID_PARAMETER_VALUE"),
    ("POST", "/logged-models", {}, 501, "NOT_IMPLEMENTED"),
    ("GET", "/nonsense", None, 404, "ENDPOINT_NOT_FOUND"),
]


@pytest.mark.parametrize(("method", "path", "body", "status", "code"), WRONG)
def test_what_is_wrong_is_refused_in_the_words_of_mlflow(
    people: People, method: str, path: str, body: Any, status: int, code: str
) -> None:
    found, answer = asked(people.owner, method, path, body)
    assert (found, answer["error_code"]) == (status, code)
    assert answer["message"]


def test_a_param_does_not_change_and_a_run_outside_is_not_killed(people: People, server: MusterServer) -> None:
    run = begun(people.owner, run_name="steady", start_time=1_700_000_000_000)
    assert asked(people.owner, "POST", "/runs/log-parameter", {"run_id": run, "key": "lr", "value": "1"})[0] == 200
    assert asked(people.owner, "POST", "/runs/log-parameter", {"run_id": run, "key": "lr", "value": "1"})[0] == 200
    assert asked(people.owner, "POST", "/runs/log-parameter", {"run_id": run, "key": "lr", "value": "1.0"})[0] == 200
    assert asked(people.owner, "POST", "/runs/log-parameter", {"run_id": run, "key": "lr", "value": "2"})[0] == 400
    assert server.call("POST", f"/api/v1/jobs/{run}/kill")[0] == 409
    assert server.call("GET", f"/api/v1/jobs/{run}")[1]["state"] == "Running"
    assert experiments(people.admin, job=run)[0]["ranS"] > 1_000_000
    ended = {"run_id": run, "status": "FINISHED", "end_time": 1_700_000_007_000}
    assert asked(people.owner, "POST", "/runs/update", ended)[0] == 200
    assert experiments(people.admin, job=run)[0]["ranS"] == 7
    assert server.call("DELETE", f"/api/v1/jobs/{run}")[0] in (200, 204)
    assert asked(people.owner, "GET", "/runs/get", run_id=run)[0] == 404


def test_an_answer_has_some_megabytes_and_its_token_leads_on(people: People) -> None:
    made = asked(people.owner, "POST", "/experiments/create", {"name": "of large runs"})[1]["experiment_id"]
    tags = [{"key": f"t{number}", "value": "x" * 8000} for number in range(100)]
    runs = {begun(people.owner, experiment_id=made, tags=tags, run_name=f"large-{number}") for number in range(12)}
    body: dict[str, Any] = {"experiment_ids": [made]}
    first = asked(people.owner, "POST", "/runs/search", body)[1]
    assert 1 < len(first["runs"]) < 12
    assert len(json.dumps(first)) < 9 << 20
    second = asked(people.owner, "POST", "/runs/search", {**body, "page_token": first["next_page_token"]})[1]
    assert {one["info"]["run_id"] for one in [*first["runs"], *second["runs"]]} == runs
    assert "next_page_token" not in second
    for query, most in (({"label": f"experiment={made}"}, len(runs)), ({"job": sorted(runs)}, len(runs))):
        answer = ok(people.owner.get("/experiments?" + urlencode(query, doseq=True)))
        assert (answer["complete"], 1 < len(answer["items"]) < most) == (False, True)
        assert len(json.dumps(answer)) < 9 << 20
        rest = ok(people.owner.get("/experiments?" + urlencode({**query, "cursor": answer["nextCursor"]}, doseq=True)))
        assert {one["id"] for one in [*answer["items"], *rest["items"]]} == runs
        assert (rest["complete"], rest["nextCursor"]) == (True, None)
        client = muster.Client(people.owner.server.url, people.owner.token)
        assert {one["id"] for one in client.runs(query)["items"]} == runs


def test_the_experiments_of_an_answer_have_some_megabytes(people: People) -> None:
    tags = [{"key": f"t{number}", "value": "x" * 8000} for number in range(8)]
    made = {
        asked(people.other, "POST", "/experiments/create", {"name": f"large {number}", "tags": tags})[1][
            "experiment_id"
        ]
        for number in range(140)
    }
    body = {"filter": "tags.t7 LIKE 'x%' AND name LIKE 'large%'"}
    first = asked(people.other, "POST", "/experiments/search", body)[1]
    assert len(json.dumps(first)) < 9 << 20
    second = asked(people.other, "POST", "/experiments/search", {**body, "page_token": first["next_page_token"]})[1]
    assert {one["experiment_id"] for one in [*first["experiments"], *second["experiments"]]} == made
    assert all(len(one["tags"]) == 8 for one in [*first["experiments"], *second["experiments"]])
    assert "next_page_token" not in second


def test_what_was_reported_counts_against_the_own_limits(people: People) -> None:
    def used() -> dict[str, int]:
        found = ok(people.other.get("/quotas"))
        return {one["kind"]: one["used"] for one in found["items"] if one["user"] == people.other.name}

    before = used()
    begun(people.other, tags=[{"key": "team", "value": "a" * 100}], run_name="counted")
    after = used()
    assert after["outsideRuns"] - before["outsideRuns"] == 1
    assert after["noteBytes"] - before["noteBytes"] == len("team") + 100 + len("mlflow.runName" + "counted")


def test_a_token_of_one_job_finds_the_experiment_of_its_job_only(people: People) -> None:
    own, other = (
        asked(people.owner, "POST", "/experiments/create", {"name": name})[1]["experiment_id"]
        for name in ("of the job", "of others")
    )
    plain, grouped = begun(people.owner), begun(people.owner, experiment_id=own)
    for run, known in ((plain, ["0"]), (grouped, [own, "0"])):
        made = ok(people.owner.post("/tokens", {"name": f"of-{run}", "scope": "submit", "job": run}), 201)
        bound = Caller(people.owner.server, made["secret"])
        found = asked(bound, "POST", "/experiments/search", {})[1]["experiments"]
        assert [one["experiment_id"] for one in found] == known
        assert asked(bound, "GET", "/experiments/get", experiment_id=own)[0] == (200 if own in known else 404)
        assert asked(bound, "GET", "/experiments/get", experiment_id=other)[0] == 404
        named = asked(bound, "GET", "/experiments/get-by-name", experiment_name="of others")[1]["experiment"]
        assert (named["experiment_id"], named["name"]) == (known[0], "of others")
        runs = asked(bound, "POST", "/runs/search", {"experiment_ids": [known[0]]})[1]["runs"]
        assert [one["info"]["run_id"] for one in runs] == [run]


def test_a_token_that_may_only_read_writes_nothing(people: People) -> None:
    run = begun(people.owner)
    made = ok(people.owner.post("/tokens", {"name": "reader", "scope": "read"}), 201)
    reader = Caller(people.owner.server, made["secret"])
    assert asked(reader, "GET", "/runs/get", run_id=run)[0] == 200
    assert asked(reader, "POST", "/runs/search", {"experiment_ids": ["0"]})[0] == 200
    assert asked(reader, "POST", "/runs/set-tag", {"run_id": run, "key": "a", "value": "b"})[0] == 403
    assert asked(reader, "POST", "/runs/create", {})[0] == 403
    assert asked(Caller(reader.server, "x"), "GET", "/runs/get", run_id=run)[0] == 401


def best(who: Caller, metric: str) -> list[str]:
    status, found = who.server.call("GET", f"/api/v1/experiments/best?metric={metric}")
    assert status == 200, found
    return [one["best"]["id"] for one in found["items"]]


@pytest.mark.parametrize("what", ["run", "experiment"])
def test_a_deleted_run_neither_wins_nor_takes_reports(people: People, what: str) -> None:
    owner, metric = people.owner, f"of_deleted_{what}"
    made = asked(owner, "POST", "/experiments/create", {"name": f"deleted {what}"})[1]["experiment_id"]
    run = begun(owner, experiment_id=made)
    point = {"run_id": run, "key": metric, "value": 1, "timestamp": 1_700_000_000_000}
    assert asked(owner, "POST", "/runs/log-metric", point)[0] == 200
    assert best(people.admin, metric) == [run]
    body = {"run_id": run} if what == "run" else {"experiment_id": made}
    assert asked(owner, "POST", f"/{what}s/delete", body)[0] == 200
    assert best(people.admin, metric) == []
    assert run not in [one["id"] for one in experiments(people.admin, limit=1000)]
    assert [one["id"] for one in experiments(people.admin, job=run)] == [run]
    for path, report in (
        ("/runs/log-metric", point),
        ("/runs/log-parameter", {"run_id": run, "key": "lr", "value": "1"}),
        ("/runs/set-tag", {"run_id": run, "key": "a", "value": "b"}),
        ("/runs/log-batch", {"run_id": run}),
        ("/runs/update", {"run_id": run, "status": "FINISHED"}),
    ):
        status, answer = asked(owner, "POST", path, report)
        assert (status, answer["error_code"]) == (400, "INVALID_PARAMETER_VALUE"), path
        assert "was deleted" in answer["message"]
    assert asked(owner, "POST", f"/{what}s/restore", body)[0] == 200
    assert asked(owner, "POST", "/runs/log-metric", point)[0] == 200
    assert best(people.admin, metric) == [run]


@pytest.mark.parametrize("is_over", [False, True])
def test_what_cannot_be_done_with_a_run_outside_says_why(people: People, server: MusterServer, is_over: bool) -> None:
    run = begun(people.admin, run_name="far away")
    if is_over:
        assert asked(people.admin, "POST", "/runs/update", {"run_id": run, "status": "FINISHED"})[0] == 200
    for method, path in (("POST", "retry"), ("POST", "hold"), ("POST", "kill"), ("GET", "logs")):
        status, answer = server.call(method, f"/api/v1/jobs/{run}/{path}")
        assert status == 409, path
        assert "was made outside of Muster" in str(answer), path
    status, told = server.call("GET", f"/api/v1/jobs/{run}/explain")
    assert status == 200
    assert "was made outside of Muster" in told["summary"]
