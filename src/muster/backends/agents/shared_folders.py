"""Checks that the folders of a cluster exist on its nodes, are writable, and are the same everywhere.

Every node writes a marker of its own into a folder that has none, so two nodes that read the same marker see the same
folder. If markers differ, the majority is right. In a tie the oldest marker is right, because a mount point whose
file system is no longer mounted got its marker later than the file system did.
"""

import re
import secrets
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from muster.backends.agents.connection import AgentNode
from muster.domain.clusters import CONDA, Folder, PhysicalCluster, folder_label
from muster.domain.needs import OK, alert_prefix, folder_name

SOURCE = "folders"
_CONDA_CHECK = "/conda"
"""The name of the check for conda, which no folder can have."""
_NODES_NAMED = 3
_LEFT_AT = re.compile(r"muster (\d+\.\d{3}) ")

Answer = Mapping[str, Mapping[str, Any]]


class FolderWatch:
    def __init__(self, settings: Callable[[], PhysicalCluster], agents: Callable[[], Iterable[AgentNode]]) -> None:
        self._settings = settings
        self._agents = agents
        self._answers: dict[str, Answer] = {}
        """The answers by node, in the order in which the nodes first answered."""

    async def probe(self, agent: AgentNode) -> None:
        """Ask one node. Its answer may change the verdict on the others, so `label_nodes` comes next."""
        settings = self._settings()
        checks = _checks(settings)
        name = agent.node.name
        self._answers[name] = (await agent.ask("check_folders", folders=checks))["folders"] if checks else {}

    def forget(self, node: str) -> None:
        self._answers.pop(node, None)

    def label_nodes(self) -> None:
        """Label the nodes with the folders that work there, and raise alerts for the others."""
        settings = self._settings()
        problems = folder_problems(settings, self._answers)
        for agent in self._agents():
            if agent.node.name in problems:
                found = problems[agent.node.name]
                agent.note_labels(SOURCE, {label: OK for label, problem in found.items() if not problem})
                agent.note_alerts(SOURCE, [alert_prefix(label) + words for label, words in found.items() if words])


def folder_problems(settings: PhysicalCluster, answers: Mapping[str, Answer]) -> dict[str, dict[str, str]]:
    """The problem by node and label, empty if there is none. Folders that a node was not asked about are left out."""
    found: dict[str, dict[str, str]] = {node: {} for node in answers}
    for folder in settings.folders:
        checked = {node: answer[folder.name] for node, answer in answers.items() if folder.name in answer}
        for node, problem in _problems(folder, checked).items():
            found[node][folder_label(folder.name)] = problem
    for node, answer in answers.items():
        if settings.conda_root is not None and _CONDA_CHECK in answer:
            found[node][CONDA] = _conda_problem(settings, answer, found[node])
    return found


def _checks(settings: PhysicalCluster) -> list[dict[str, Any]]:
    checks: list[dict[str, Any]] = [
        {
            "name": folder.name,
            "path": folder.path,
            "marker": new_marker(time.time()) if folder.shared else "",
            "writable": not folder.read_only,
        }
        for folder in settings.folders
    ]
    if settings.conda_root is not None:
        checks.append({"name": _CONDA_CHECK, "path": settings.conda_root, "program": "bin/python"})
    return checks


def new_marker(now: float) -> str:
    """The marker for a folder that has none. It contains the time when it was made."""
    return f"muster {now:.3f} {secrets.token_hex(16)}"


def _problems(folder: Folder, checked: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    words = {node: str(answer.get("problem") or "") for node, answer in checked.items()}
    differing = _differing(folder.path, checked) if folder.shared else {}
    return {node: problem or differing.get(node, "") for node, problem in words.items()}


def _differing(path: str, checked: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """The nodes that see another folder than most. A folder that is not writable still has its marker."""
    marks = {node: str(answer["marker"]) for node, answer in checked.items() if "marker" in answer}
    if right := _right(list(filter(None, marks.values()))):
        agreeing = [node for node, mark in marks.items() if mark == right]
        words = f"not the same as on {_named(agreeing)}: {path} is another folder there"
        return {node: words for node, mark in marks.items() if mark != right}
    full = [node for node in marks if not checked[node].get("empty")]
    words = f"not the same as on {_named(full)}: {path} is not empty there"
    return {node: words for node in marks if node not in full} if full else {}


def _conda_problem(settings: PhysicalCluster, answer: Answer, found: Mapping[str, str]) -> str:
    problem = str(answer[_CONDA_CHECK].get("problem") or "")
    folder = folder_name(settings.conda or "", settings)
    if problem or folder is None:
        return problem
    return f"in folder {folder}, which is {below}" if (below := found.get(folder_label(folder), "")) else ""


def _right(marks: Sequence[str]) -> str:
    """The right marker. It is empty if no node has one, as in read-only folders."""
    counts = Counter(marks)
    return min(counts, key=lambda mark: (-counts[mark], _left_at(mark)), default="")


def _left_at(mark: str) -> float:
    """When the marker was made. A marker that was written by hand has no time, and counts as the oldest."""
    found = _LEFT_AT.match(mark)
    return float(found[1]) if found else 0.0


def _named(nodes: Sequence[str]) -> str:
    shown = ", ".join(nodes[:_NODES_NAMED])
    return f"{shown} and {len(nodes) - _NODES_NAMED} more" if len(nodes) > _NODES_NAMED else shown
