"""The dashboards and rules for Prometheus: their JSON has the fields that Grafana needs, and they name only metrics and
labels that a server tells."""

import re
from pathlib import Path
from typing import Any, Literal

import pytest
import yaml
from pydantic import BaseModel, ConfigDict

from muster.domain.alerting.alert_rules import DEFAULT_RULES
from muster.server.metrics import GROUPS
from tests.parts.dashboards import BOARDS, FOLDER, expressions, read

pytestmark = pytest.mark.fast

_PROMETHEUS = FOLDER.parent / "prometheus"
_SCRAPED = {"job", "instance"}
_METRIC = re.compile(r"\b(muster[\w:]+|up)\s*(?:\{([^}]*)\})?")
_LABEL = re.compile(r"(\w+)\s*(?:=~|!~|!=|=)")
_GROUPED = re.compile(r"\b(?:by|without)\s*\(([^)]*)\)")
_RANGE = {"muster_http_request_seconds_bucket": "muster_http_request_seconds"}


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Source(_Strict):
    type: Literal["prometheus"]
    uid: Literal["${source}"]


class Target(_Strict):
    refId: str
    datasource: Source
    expr: str
    legendFormat: str
    instant: bool = False
    range: bool = False
    format: Literal["table"] | None = None


class Place(_Strict):
    x: int
    y: int
    w: int
    h: int


class Defaults(_Strict):
    unit: str
    min: float | None = None
    max: float | None = None
    custom: dict[str, Any] = {}
    thresholds: dict[str, Any] = {}


class Fields(_Strict):
    defaults: Defaults
    overrides: list[Any]


class Panel(_Strict):
    id: int
    type: Literal["timeseries", "stat", "table"]
    title: str
    description: str
    datasource: Source
    gridPos: Place
    fieldConfig: Fields
    options: dict[str, Any]
    transformations: list[dict[str, Any]] = []
    targets: list[Target]


class Board(_Strict):
    title: str
    uid: str
    tags: list[str]
    editable: bool
    schemaVersion: int
    version: int
    timezone: Literal["browser"]
    refresh: str
    graphTooltip: int
    time: dict[str, str]
    annotations: dict[str, list[Any]]
    links: list[dict[str, Any]]
    templating: dict[Literal["list"], list[dict[str, Any]]]
    panels: list[Panel]


def rules() -> list[dict[str, Any]]:
    found = []
    for name in ("muster-recording.yml", "muster-alerts.yml"):
        groups = yaml.safe_load((_PROMETHEUS / name).read_text(encoding="utf-8"))["groups"]
        found += [rule for group in groups for rule in group["rules"]]
    return found


def labels_of_metrics() -> dict[str, set[str]]:
    """Of what a server tells, and of what the rules record from it."""
    found = {name: {*metric.labels, *_SCRAPED} for table in GROUPS.values() for name, metric in table.items()}
    found |= {"up": set(_SCRAPED)} | {name: {*found[base], "le"} for name, base in _RANGE.items()}
    for rule in rules():
        if "record" in rule:
            found[rule["record"]] = set(re.split(r",\s*", _GROUPED.findall(rule["expr"])[0]))
    return found


def unknown(expression: str) -> list[str]:
    """What an expression names and nobody tells."""
    known, wrong, labels = labels_of_metrics(), [], set[str]()
    for metric, selector in _METRIC.findall(expression):
        if metric not in known:
            wrong.append(metric)
            continue
        labels |= known[metric]
        wrong += [f"{metric}{{{label}}}" for label in _LABEL.findall(selector) if label not in known[metric]]
    grouped = [label for found in _GROUPED.findall(expression) for label in re.split(r",\s*", found)]
    return wrong + [f"by {label}" for label in grouped if label not in labels]


@pytest.mark.parametrize("name", BOARDS)
def test_a_board_has_the_fields_that_grafana_needs(name: str) -> None:
    board = Board.model_validate(read(name))
    assert board.uid == f"muster-{name}"
    assert len({panel.id for panel in board.panels}) == len(board.panels)
    assert all(panel.gridPos.x + panel.gridPos.w <= 24 for panel in board.panels)
    assert "source" in [one["name"] for one in board.templating["list"]]


@pytest.mark.parametrize("name", BOARDS)
def test_panels_do_not_lie_on_one_another(name: str) -> None:
    taken: dict[tuple[int, int], str] = {}
    for panel in Board.model_validate(read(name)).panels:
        place = panel.gridPos
        for x in range(place.x, place.x + place.w):
            for y in range(place.y, place.y + place.h):
                assert taken.setdefault((x, y), panel.title) == panel.title


@pytest.mark.parametrize("query", list(expressions(BOARDS)), ids=lambda one: f"{one.board}: {one.panel}")
def test_a_board_asks_only_for_what_is_told(query: Any) -> None:
    assert unknown(query.text) == []


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule.get("record") or rule["alert"])
def test_a_rule_asks_only_for_what_is_told(rule: dict[str, Any]) -> None:
    assert unknown(rule["expr"]) == []


def test_every_default_rule_of_the_server_is_also_one_for_prometheus() -> None:
    given = {rule["alert"]: rule for rule in rules() if "alert" in rule}
    for rule in DEFAULT_RULES:
        assert given[rule.name]["labels"]["severity"] == str(rule.severity), rule.name


def test_what_is_provisioned_is_there() -> None:
    sources = yaml.safe_load((FOLDER / "provisioning/datasources/muster.yml").read_text(encoding="utf-8"))
    assert {one["type"] for one in sources["datasources"]} == {"prometheus", "influxdb"}
    providers = yaml.safe_load((FOLDER / "provisioning/dashboards/muster.yml").read_text(encoding="utf-8"))
    assert Path(providers["providers"][0]["options"]["path"]).name == "muster"
    assert {path.stem for path in (FOLDER / "dashboards").glob("*.json")} == {*BOARDS, "servers"}
