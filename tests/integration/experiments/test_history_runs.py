"""Jobs compared on the command line, against a real server."""

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.parts.server import MusterServer, running_server

RUNS: dict[str, tuple[float, list[Any]]] = {
    "one": (0.1, [0.5, 0.8]),
    "two": (0.01, [0.6, 0.9]),
    "three": (0.1, [0.7, "NaN"]),
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MusterServer]:
    home = tmp_path_factory.mktemp("runs") / "home"
    (home / "clusters.d").mkdir(parents=True)
    (home / "clusters.d" / "local.yaml").write_text("backend: local\ngpuHourPrice: 2.5\n")
    with running_server(home, {"MUSTER_FAKE_GPUS": "1xA100"}) as running:
        for name, (lr, values) in RUNS.items():
            _report(running, name, lr, values)
        yield running


def _report(server: MusterServer, name: str, lr: float, values: list[Any]) -> None:
    env = {"SHARED": "1", "OWN": name}
    spec = {"name": name, "command": "true", "hold": True, "params": {"lr": lr}, "env": env}
    spec["runtime"] = {"venv": "/opt/ml"}
    points = [
        {"name": "acc", "step": step, "at": f"2024-01-01T00:00:{step:02d}Z", "value": value}
        for step, value in enumerate(values)
    ]
    status, _ = server.call("POST", f"/api/v1/jobs/{server.submit(spec)['id']}/metrics", {"points": points})
    assert status == 200


def test_jobs_side_by_side(server: MusterServer) -> None:
    lines = server.run("history", "compare", "one", "two", check=True).stdout.splitlines()
    assert lines[0].split() == ["ONE", "TWO"] or lines[0].split() == ["one", "two"]
    found = {" ".join(line.split()[:-2]): line.split()[-2:] for line in lines[1:]}
    assert found["param lr"] == ["0.1", "0.01"]
    assert found["env OWN"] == ["one", "two"]
    assert "env SHARED" not in found
    assert found["environment venv"] == ["/opt/ml", "/opt/ml"]
    assert found["acc"] == ["0.8", "0.9"]
    document = server.json("history", "compare", "three")
    assert document["items"][0]["metrics"]["acc"]["last"] == "NaN"


def test_what_a_job_cost(server: MusterServer) -> None:
    spec = {"name": "paid", "command": "sleep 0.2", "resources": {"gpu": 1, "cpu": "100m"}}
    server.wait(server.submit(spec)["id"])
    (paid,) = server.json("history", "compare", "paid")["items"]
    assert paid["gpuHours"] > 0
    assert paid["cost"] == pytest.approx(2.5 * paid["gpuHours"], abs=1e-5)
    assert paid["environment"] == {"gpu": "A100"}
    (unpaid,) = server.json("history", "compare", "one")["items"]
    assert unpaid["cost"] == 0.0


def test_jobs_of_this_server_need_no_log_server(server: MusterServer) -> None:
    lines = server.run("history", "list", check=True).stdout.splitlines()
    assert {line.split()[0] for line in lines[1:]} >= set(RUNS)
    shown = server.run("history", "show", "one", check=True).stdout
    assert "Params:        lr=0.1" in shown
    assert "job.held" in shown
    assert "Environment:   venv=/opt/ml" in shown
    table = [line.split() for line in shown.partition("\nMetrics:\n")[2].splitlines()[:2]]
    assert table == [["NAME", "LAST", "STEP", "LOWEST", "HIGHEST", "POINTS"], ["acc", "0.8", "1", "0.5", "0.8", "2"]]
    assert server.json("history", "show", "three")["run"]["metrics"]["acc"]["last"] == "NaN"
    refused = server.run("history", "list", "--all")
    assert (refused.returncode, "this server has no log server" in refused.stderr) == (1, True)
    assert "the history has no job nobody" in server.run("history", "show", "nobody").stderr


def test_jobs_are_found_by_what_they_were_given_and_what_they_reported(server: MusterServer) -> None:
    found = server.json("history", "list", "--param", "lr=0.1", "--having", "acc>0.1")["items"]
    assert [one["name"] for one in found] == ["one"]
    lines = server.run("history", "list", "--param", "lr<0.05", check=True).stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["NAME", "two"]
    refused = server.run("history", "list", "--all", "--param", "lr<0.05")
    assert (refused.returncode, "--all goes without" in refused.stderr) == (2, True)


def test_the_best_of_each_value_of_a_parameter(server: MusterServer) -> None:
    items = server.json("history", "best", "--metric", "acc", "--by", "lr")["items"]
    assert [(one["group"], one["value"], one["best"]["name"]) for one in items] == [
        (0.01, 0.9, "two"),
        (0.1, 0.8, "one"),
    ]
    assert "no job has reported loss" in server.run("history", "best", "--metric", "loss", check=True).stderr


def test_without_a_parameter_jobs_are_ranked(server: MusterServer) -> None:
    shown = server.run("history", "best", "--metric", "acc", "--min", "--param", "lr>0.05", check=True).stdout
    title, *lines = [line.split() for line in shown.splitlines()]
    assert title == ["ACC", "JOB", "ID", "STATE", "PARAMS"]
    assert [(line[0], line[1], line[-1]) for line in lines] == [("0.5", "one", "lr=0.1"), ("0.7", "three", "lr=0.1")]


def test_condition_without_a_value_is_wrong_usage(server: MusterServer) -> None:
    refused = server.run("history", "best", "--metric", "acc", "--param", "lr<<")
    assert (refused.returncode, "'lr<<' is not a condition" in refused.stderr) == (2, True)


def test_a_table_for_other_programs(server: MusterServer, tmp_path: Path) -> None:
    server.run("history", "export", str(tmp_path / "runs.csv"), "--having", "acc>0.1", check=True)
    with (tmp_path / "runs.csv").open() as file:
        rows = {row["name"]: row for row in csv.DictReader(file)}
    assert set(rows) == {"one", "two"}
    assert (rows["two"]["params.lr"], rows["two"]["metrics.acc.highest"], rows["two"]["state"]) == (
        "0.01",
        "0.9",
        "Held",
    )
    server.run("history", "export", str(tmp_path / "runs.json"), check=True)
    exported = {one["name"]: one for one in json.loads((tmp_path / "runs.json").read_text())}
    assert exported.keys() - {"paid"} == set(RUNS)
    assert exported["one"]["environment"] == {"venv": "/opt/ml"}
    refused = server.run("history", "export", str(tmp_path / "runs.xls"))
    assert (refused.returncode, "expected a name that ends in" in refused.stderr) == (2, True)


def test_curves_as_a_picture(server: MusterServer, tmp_path: Path) -> None:
    picture = tmp_path / "acc.svg"
    server.run("history", "curves", "acc", *RUNS, "--picture", str(picture), check=True)
    root = ElementTree.parse(picture).getroot()
    assert len(root.findall("{http://www.w3.org/2000/svg}polyline")) == len(RUNS)
    refused = server.run("history", "curves", "loss", "one", "--picture", str(picture))
    assert "none of these jobs has reported loss" in refused.stderr


def test_the_points_of_curves_for_other_programs(server: MusterServer) -> None:
    printed = server.run("history", "curves", "acc", "one", "three", "-o", "csv", check=True).stdout
    rows = [(row["job"], row["step"], row["acc"]) for row in csv.DictReader(printed.splitlines())]
    assert rows == [("one", "0", "0.5"), ("one", "1", "0.8"), ("three", "0", "0.7"), ("three", "1", "NaN")]
    (first, _) = server.json("history", "curves", "acc", "one")["items"]
    assert (first["step"], first["value"], first["at"][:19]) == (0, 0.5, "2024-01-01T00:00:00")
    refused = server.run("history", "curves", "acc", "one")
    assert (refused.returncode, "give either --picture or --output" in refused.stderr) == (2, True)


def test_jobs_as_parallel_coordinates(server: MusterServer, tmp_path: Path) -> None:
    picture = tmp_path / "runs.svg"
    server.run("history", "plot", *RUNS, "--metric", "acc", "--axis", "lr", "--picture", str(picture), check=True)
    assert len(ElementTree.parse(picture).getroot().findall("{http://www.w3.org/2000/svg}polyline")) == len(RUNS)


@pytest.mark.parametrize(("option", "known"), [("--axis", "lr"), ("--metric", "acc")])
def test_axis_that_no_job_has_is_refused_with_the_known_ones(
    server: MusterServer, tmp_path: Path, option: str, known: str
) -> None:
    picture = tmp_path / "runs.svg"
    words = ("history", "plot", *RUNS, "--metric", "acc", option, "nosuch", "--picture", str(picture))
    refused = server.run(*words)
    assert (refused.returncode, picture.exists()) == (2, False)
    assert f"none of these jobs has 'nosuch'; they have: {known}" in " ".join(refused.stderr.split())
