"""The table columns of environments and of their tests."""

from collections.abc import Mapping, Sequence
from typing import Any

from muster.cli.tables.text_tables import Column
from muster.client.environment_views import EnvironmentView

_NODES_SHOWN = 4


def environment_columns() -> list[Column[EnvironmentView]]:
    return [
        Column("NAME", lambda one: one.name),
        Column("KIND", lambda one: one.kind),
        Column("PYTHON", lambda one: one.python),
        Column("FRAMEWORKS", lambda one: ", ".join(f"{name} {version}" for name, version in one.frameworks.items())),
        Column("CLUSTER", lambda one: one.cluster),
        Column("PATH", lambda one: one.raw.get("path"), wide=True),
        Column("NODES", lambda one: _nodes(one.nodes)),
    ]


def trial_columns() -> list[Column[Mapping[str, Any]]]:
    return [
        Column("NODE", lambda row: row["node"]),
        Column("PYTHON", lambda row: row["python"]),
        Column("FRAMEWORK", lambda row: row["framework"]),
        Column("VERSION", lambda row: row["version"]),
        Column("GPUS SEEN", lambda row: row["gpus"], right=True),
        Column("RESULT", lambda row: row["result"], colour=lambda text: "green" if text == "ok" else "red"),
    ]


def _nodes(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_NODES_SHOWN])
    return f"{shown} and {len(names) - _NODES_SHOWN} more" if len(names) > _NODES_SHOWN else shown
