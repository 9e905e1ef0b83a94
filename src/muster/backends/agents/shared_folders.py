"""The cluster's folders on its nodes: are they there, writable, and the same everywhere?

Every node leaves a word of its own in a folder that has none, so two nodes that read the same word see the same folder.
Where words differ, most nodes are right; of as many, those with the oldest word: what lies bare where nothing is
mounted any more got its word later than what was mounted there.
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
"""No folder is called so."""
_NODES_NAMED = 3
_LEFT_AT = re.compile(r"muster (\d+\.\d{3}) ")

Answer = Mapping[str, Mapping[str, Any]]


class FolderWatch:
    def __init__(self, settings: Callable[[], PhysicalCluster], agents: Callable[[], Iterable[AgentNode]]) -> None:
        self._settings = settings
        self._agents = agents
        self._answers: dict[str, Answer] = {}
        """By node, in the order in which they were first heard."""

    async def hear(self, agent: AgentNode) -> None:
        """Ask one node. What it says may change what is thought of the others: then `judge`."""
        settings = self._settings()
        checks = _checks(settings)
        name = agent.node.name
        self._answers[name] = (await agent.ask("check_folders", folders=checks))["folders"] if checks else {}

    def forget(self, node: str) -> None:
        self._answers.pop(node, None)

    def judge(self) -> None:
        """Label the nodes, and say what is wrong."""
        settings = self._settings()
        problems = judged(settings, self._answers)
        for agent in self._agents():
            if agent.node.name in problems:
                found = problems[agent.node.name]
                agent.note_labels(SOURCE, {label: OK for label, problem in found.items() if not problem})
                agent.note_alerts(SOURCE, [alert_prefix(label) + words for label, words in found.items() if words])


def judged(settings: PhysicalCluster, answers: Mapping[str, Answer]) -> dict[str, dict[str, str]]:
    """By node and label what is wrong, empty if nothing. A folder that a node has not been asked of is left out."""
    found: dict[str, dict[str, str]] = {node: {} for node in answers}
    for folder in settings.folders:
        told = {node: answer[folder.name] for node, answer in answers.items() if folder.name in answer}
        for node, problem in _problems(folder, told).items():
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
    """The word for a folder that has none; it says when it was made up."""
    return f"muster {now:.3f} {secrets.token_hex(16)}"


def _problems(folder: Folder, told: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    words = {node: str(answer.get("problem") or "") for node, answer in told.items()}
    odd = _odd(folder.path, told) if folder.shared else {}
    return {node: problem or odd.get(node, "") for node, problem in words.items()}


def _odd(path: str, told: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Who sees another folder than most. One that cannot be written still shows which it is."""
    marks = {node: str(answer["marker"]) for node, answer in told.items() if "marker" in answer}
    if right := _right(list(filter(None, marks.values()))):
        agreeing = [node for node, mark in marks.items() if mark == right]
        words = f"not the same as on {_named(agreeing)}: {path} is another folder there"
        return {node: words for node, mark in marks.items() if mark != right}
    full = [node for node in marks if not told[node].get("empty")]
    words = f"not the same as on {_named(full)}: {path} is not empty there"
    return {node: words for node in marks if node not in full} if full else {}


def _conda_problem(settings: PhysicalCluster, answer: Answer, found: Mapping[str, str]) -> str:
    problem = str(answer[_CONDA_CHECK].get("problem") or "")
    folder = folder_name(settings.conda or "", settings)
    if problem or folder is None:
        return problem
    return f"in folder {folder}, which is {below}" if (below := found.get(folder_label(folder), "")) else ""


def _right(marks: Sequence[str]) -> str:
    """Empty where nobody has one, as in folders that may only be read."""
    counts = Counter(marks)
    return min(counts, key=lambda mark: (-counts[mark], _left_at(mark)), default="")


def _left_at(mark: str) -> float:
    """One that was written by hand has no time, and goes before all others."""
    found = _LEFT_AT.match(mark)
    return float(found[1]) if found else 0.0


def _named(nodes: Sequence[str]) -> str:
    shown = ", ".join(nodes[:_NODES_NAMED])
    return f"{shown} and {len(nodes) - _NODES_NAMED} more" if len(nodes) > _NODES_NAMED else shown
