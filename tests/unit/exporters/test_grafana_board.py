"""The board asks for nothing that is not sent."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from muster.exporters.lines import FIELDS, TAGS

pytestmark = pytest.mark.fast

BOARD = Path(__file__).parents[3] / "deploy" / "grafana" / "dashboards" / "servers.json"


def board() -> Any:
    return json.loads(BOARD.read_text(encoding="utf-8"))


def queries() -> list[str]:
    found = [target["query"] for panel in board()["panels"] for target in panel["targets"]]
    return found + [str(one["query"]) for one in board()["templating"]["list"] if one["type"] == "query"]


def test_the_board_has_the_panels_and_choices_that_people_know() -> None:
    assert board()["title"] == "Servers"
    assert [panel["title"] for panel in board()["panels"]] == [
        "CPU usage",
        "Available RAM",
        "Network recv",
        "Network sent",
        "GPU usage",
        "Available GPU RAM",
    ]
    assert [one["name"] for one in board()["templating"]["list"] if one["type"] == "query"] == ["server", "interface"]


@pytest.mark.parametrize("query", queries())
def test_the_board_asks_only_for_what_is_sent(query: str) -> None:
    measurement = re.findall(r'FROM "(\w+)"', query)
    assert len(measurement) == 1
    fields = re.findall(r'mean\("(\w+)"\)', query)
    assert set(fields) <= set(FIELDS[measurement[0]])
    named = set(re.findall(r'"(\w+)"', query)) - {measurement[0], *fields}
    tags = named | set(re.findall(rf'"({measurement[0]})" =', query))
    assert tags <= set(TAGS[measurement[0]])


def test_every_panel_is_about_the_chosen_servers_alone() -> None:
    for panel in board()["panels"]:
        assert all('"host" =~ /^$server$/' in target["query"] for target in panel["targets"])
