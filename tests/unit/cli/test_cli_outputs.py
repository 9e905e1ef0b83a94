"""`muster outputs`: what it prints, fetches and exits with."""

import hashlib
from pathlib import Path
from typing import Any

import pytest

from tests.unit.cli.calling import ID, muster, with_job
from tests.unit.client.tiny_server import Answer, TinyServer

pytestmark = pytest.mark.fast
ITEM = {
    "path": "model/w",
    "size": 7,
    "sha256": hashlib.sha256(b"weights").hexdigest(),
    "modifiedAt": "2026-01-02T03:04:05.678Z",
    "task": "mnist-worker-0",
}


def told(**changes: Any) -> dict[str, Any]:
    return {"items": [ITEM], "attempt": 1, "complete": True, "leftOut": [], "problems": [], **changes}


def serving(server: TinyServer, *answers: dict[str, Any], state: str = "Succeeded") -> None:
    with_job(server, state=state)
    server.on("GET", f"/jobs/{ID}/outputs", *(Answer(200, answer) for answer in answers))
    server.on("GET", f"/jobs/{ID}/outputs/model/w", Answer(200, pieces=[b"weights"]))


def test_a_table_of_paths_and_sizes(server: TinyServer) -> None:
    serving(server, told())
    outcome = muster(server, "outputs", "mnist")
    assert outcome.code == 0
    assert outcome.out.splitlines()[0].split() == ["PATH", "SIZE", "MODIFIED"]
    assert "model/w   7 B" in outcome.out


def test_json_is_the_servers_own(server: TinyServer) -> None:
    serving(server, told())
    assert muster(server, "outputs", "mnist", "-o", "json").document == told()
    assert muster(server, "outputs", "mnist", "-o", "name").out == "model/w\n"


def test_nothing_and_not_yet_are_told_apart(server: TinyServer) -> None:
    serving(server, told(items=[]), told(items=[], complete=False))
    server.on("GET", f"/jobs/{ID}/spec", Answer(200, {"spec": {"outputs": ["model"]}}))
    assert "has no outputs" in muster(server, "outputs", "mnist").err
    assert "more outputs later" in muster(server, "outputs", "mnist").err


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ({"outputs": ["model"]}, "it left no file that `outputs` in its spec names"),
        ({}, "its spec names none; `outputs` in a job file, or `muster run --outputs`, says what is kept of a task"),
    ],
)
def test_get_of_no_outputs_says_why_and_names_no_folder(server: TinyServer, spec: dict[str, Any], why: str) -> None:
    serving(server, told(items=[]))
    server.on("GET", f"/jobs/{ID}/spec", Answer(200, {"spec": spec}))

    outcome = muster(server, "outputs", "mnist", "--get")

    assert (outcome.code, outcome.out, outcome.err) == (0, "", f"job mnist has no outputs: {why}\n")


def test_get_downloads_to_a_folder_named_as_the_job(
    server: TinyServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    serving(server, told())
    outcome = muster(server, "outputs", "mnist", "--get")
    assert (outcome.code, outcome.out) == (0, "")
    assert (tmp_path / "mnist/model/w").read_bytes() == b"weights"
    assert muster(server, "outputs", "mnist", "--get", "there").code == 0
    assert (tmp_path / "there/model/w").exists()


def test_get_waits_until_all_is_on_the_server(server: TinyServer, tmp_path: Path) -> None:
    serving(server, told(items=[], complete=False), told())
    assert muster(server, "outputs", "mnist", "--get", str(tmp_path / "got")).code == 0
    assert (tmp_path / "got/model/w").exists()


def test_get_fetches_what_there_is_and_says_what_is_missing(server: TinyServer, tmp_path: Path) -> None:
    serving(server, told(complete=False, problems=["mnist-worker-1: n2: away"], leftOut=["big"]))
    outcome = muster(server, "outputs", "mnist", "--get", str(tmp_path / "got"))
    assert outcome.code == 1
    assert "n2: away" in outcome.err
    assert "big" in outcome.err
    assert (tmp_path / "got/model/w").exists()


@pytest.mark.parametrize("lacking", [{"problems": ["mnist-worker-0: 1 folder is not collected"]}, {"leftOut": ["big"]}])
def test_get_of_what_will_never_come_whole_fails_without_promising_more(
    server: TinyServer, tmp_path: Path, lacking: dict[str, Any]
) -> None:
    serving(server, told(**lacking))
    outcome = muster(server, "outputs", "mnist", "--get", str(tmp_path / "got"))
    assert outcome.code == 1
    assert "some outputs are missing" in outcome.err
    assert "when the node is reachable again" not in outcome.err


def test_get_names_the_file_that_cannot_be_had_and_fetches_the_others(server: TinyServer, tmp_path: Path) -> None:
    items = [{**ITEM, "path": "a\nb"}, {**ITEM, "path": "../up"}, ITEM]
    serving(server, told(items=items))
    outcome = muster(server, "outputs", "mnist", "--get", str(tmp_path / "got"))
    assert outcome.code == 1
    assert "2 of 3 outputs cannot be downloaded" in outcome.err
    assert r"'a\nb'" in outcome.err
    assert "'../up'" in outcome.err
    assert (tmp_path / "got/model/w").exists()
