"""The shipped Grafana dashboards, as tests read them."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[2] / "deploy" / "grafana"
BOARDS = ("cluster", "node", "job", "user", "queue")
"""Those that ask Prometheus."""
_CHOSEN = {"$__range_s": "3600", "$__range": "1h", "$__interval": "10s", "$timeFilter": "time > now() - 5m"}
_LABEL_VALUES = re.compile(r"label_values\((.*), (\w+)\)")


@dataclass(frozen=True, slots=True)
class Query:
    board: str
    panel: str
    text: str
    is_series: bool = False
    """Whether it is the choice of a variable."""

    @property
    def only_alerts(self) -> bool:
        """Whether it is about alerts and nothing else, of which a healthy site has none."""
        return set(re.findall(r"\bmuster[\w:]+", self.text)) == {"muster_alerts_firing"}


def read(board: str) -> Any:
    return json.loads((FOLDER / "dashboards" / f"{board}.json").read_text(encoding="utf-8"))


def expressions(boards: tuple[str, ...]) -> Iterator[Query]:
    """What the panels ask Prometheus, and the selectors of variables."""
    for name in boards:
        board = read(name)
        for variable in board["templating"]["list"]:
            if variable["type"] == "query":
                found = _LABEL_VALUES.fullmatch(variable["query"]["query"])
                assert found is not None, variable["query"]
                yield Query(name, variable["name"], found[1], is_series=True)
        for panel in board["panels"]:
            for target in panel["targets"]:
                yield Query(name, panel["title"], target["expr"])


def filled_in(text: str, values: Mapping[str, str] | None = None) -> str:
    """As Grafana asks with everything chosen."""
    for name, value in _CHOSEN.items():
        text = text.replace(name, value)
    return re.sub(r"\$(\w+)", lambda found: (values or {}).get(found[1], ".*"), text)
