"""What `muster env` prints, asks for and exits with."""

from pathlib import Path
from typing import Any

import pytest

from muster.agent.environments.trials import WITHIN_S
from tests.unit.cli.calling import muster
from tests.unit.client.tiny_server import Answer, TinyServer

pytestmark = pytest.mark.fast

PY310 = {
    "cluster": "lab",
    "kind": "conda",
    "name": "py310",
    "path": "/srv/conda/envs/py310",
    "python": "3.10.12",
    "frameworks": {"paddle": "2.6.1", "torch": "2.3.1"},
    "nodes": ["gpu1", "gpu2", "gpu3", "gpu4", "gpu5"],
}


def a_trial(**changes: Any) -> dict[str, Any]:
    torch = {"name": "torch", "version": "2.3.1", "ok": True, "gpus": 1, "error": ""}
    trial = {"node": "gpu1", "kind": "conda", "name": "py310", "ok": True, "python": "3.10.12", "card": 2, "error": ""}
    return {**trial, "frameworks": [torch], **changes}


def test_environments_are_listed_with_versions_and_nodes(server: TinyServer) -> None:
    server.on("GET", "/environments", Answer(200, {"items": [PY310], "problems": ["gpu6: folders do not answer"]}))
    outcome = muster(server, "env", "list")
    titles, line = outcome.out.splitlines()
    assert titles.split() == ["NAME", "KIND", "PYTHON", "FRAMEWORKS", "CLUSTER", "NODES"]
    assert "paddle 2.6.1, torch 2.3.1" in line
    assert line.endswith("gpu1, gpu2, gpu3, gpu4 and 1 more")
    assert "gpu6: folders do not answer" in outcome.err
    assert muster(server, "env", "list", "-o", "name").out == "py310\n"


def test_no_environments_say_who_could_change_that(server: TinyServer) -> None:
    server.on("GET", "/environments", Answer(200, {"items": [], "problems": []}))
    outcome = muster(server, "env", "list")
    assert (outcome.out, outcome.code) == ("", 0)
    assert "admin" in outcome.err


def test_test_that_went_well_exits_0(server: TinyServer) -> None:
    server.on("POST", "/environments:test", Answer(200, {"items": [a_trial()]}))
    outcome = muster(server, "env", "test", "py310", "--cluster", "lab")
    assert outcome.code == 0
    assert outcome.out.splitlines()[1].split() == ["gpu1", "3.10.12", "torch", "2.3.1", "1", "ok"]


def test_test_that_failed_exits_1_and_says_where_and_why(server: TinyServer) -> None:
    broken = {"name": "torch", "version": "2.3.1", "ok": False, "gpus": None, "error": "ImportError: no libcudart"}
    trials = [a_trial(), a_trial(node="gpu2", ok=False, card=None, frameworks=[broken])]
    server.on("POST", "/environments:test", Answer(200, {"items": trials}))
    outcome = muster(server, "env", "test", "py310")
    assert outcome.code == 1
    assert "gpu2: torch: ImportError: no libcudart" in outcome.err
    assert "gpu2: no GPU was free" in outcome.err


def test_the_guide_and_the_help_name_the_time_that_a_test_may_take() -> None:
    guide = (Path(__file__).parents[3] / "docs/guides/environments.md").read_text(encoding="utf-8")
    assert f"killed after {WITHIN_S:g} seconds in total" in guide
    assert f"within {WITHIN_S:g} seconds in total" in " ".join(muster(None, "env", "test", "--help").out.split())
