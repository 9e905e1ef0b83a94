"""The table columns of environments and of their tests."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from muster.cli.tables.text_tables import Column
from muster.client.environment_views import EnvironmentPackagesView, EnvironmentView

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


def package_columns() -> list[Column[Mapping[str, Any]]]:
    return [
        Column("PACKAGE", lambda row: row["name"]),
        Column("VERSION", lambda row: row["version"]),
        Column("SOURCE", lambda row: row["source"]),
        Column("NODES", lambda row: _nodes(row["nodes"])),
    ]


def package_rows(found: Sequence[EnvironmentPackagesView]) -> list[Mapping[str, Any]]:
    """One row for each version of a package, with the nodes that have it."""
    nodes: dict[tuple[str, str, str], list[str]] = {}
    for one in found:
        for package in one.packages:
            nodes.setdefault((package["name"], package["version"], package["source"]), []).append(one.node)
    return [
        {"name": name, "version": version, "source": source, "nodes": having}
        for (name, version, source), having in sorted(nodes.items(), key=lambda item: item[0][0].lower())
    ]


def with_names(found: EnvironmentPackagesView, wanted: str) -> EnvironmentPackagesView:
    """Only the packages whose name contains the text, in upper or lower case."""
    kept = tuple(one for one in found.packages if wanted.lower() in one["name"].lower())
    return replace(found, packages=kept)


def _nodes(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_NODES_SHOWN])
    return f"{shown} and {len(names) - _NODES_SHOWN} more" if len(names) > _NODES_SHOWN else shown
