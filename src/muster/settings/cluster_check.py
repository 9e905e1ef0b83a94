"""Strict checking of cluster files before a server uses them: every mistake is reported, and no fallback is used."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from muster.domain.clusters import ClusterNode
from muster.domain.errors import Invalid, Problem
from muster.ports.cluster_config import ClusterSettings
from muster.settings.cluster_files import Files, Text, Unreadable, is_document, read_file
from muster.settings.cluster_kinds import NodeListing
from muster.settings.clusters import ClusterFolder


def check(folder: ClusterFolder, files: Sequence[Path]) -> list[Problem]:
    """Check the given files, or the whole folder if none are given."""
    return [problem for file in files for problem in check_file(folder, file)] if files else check_folder(folder)


def settings_with(folder: ClusterFolder, files: Sequence[Path]) -> ClusterSettings | None:
    """Return the settings of the folder with the given files in it; None if something in them is wrong."""
    documents = {file.name: read_file(file) for file in files if is_document(file.name)}
    try:
        present = folder.files() if folder.path.exists() else {}
        lists = {name: read_file(folder.path / name) for name in folder.lists(documents)}
        return folder.said({**lists, **present, **documents})
    except Invalid:
        return None


def check_folder(folder: ClusterFolder) -> list[Problem]:
    """Return the problems of the files in the folder."""
    try:
        return _problems(folder, folder.files())
    except Invalid as error:
        return list(error.problems)


def check_file(folder: ClusterFolder, file: Path) -> list[Problem]:
    """Return the problems that the file would cause in the folder, where it replaces a file of the same name.

    Problems that the folder has without it are not included. A file that is not YAML is a list of nodes and is checked
    by itself.
    """
    found = read_file(file)
    if isinstance(found, Unreadable):
        return [Problem("", found.message, found.hint, file=str(file))]
    if not is_document(file.name):
        return _list_problems(folder, found, str(file))
    return check_text(folder, file.name, found)


def check_text(folder: ClusterFolder, name: str, found: Text) -> list[Problem]:
    """Return the problems that a file of this name and text would cause in the folder, and that it does not have
    without the file."""
    others = _others(folder, name)
    before = {replace(problem, hint="") for problem in _problems(folder, others)}
    now = _problems(folder, _with_text(folder, others, name, found))
    return [problem for problem in now if replace(problem, hint="") not in before]


def check_removal(folder: ClusterFolder, name: str) -> list[Problem]:
    """Return the problems that the folder would have without the file, and does not have with it."""
    before = {replace(problem, hint="") for problem in check_folder(folder)}
    now = _problems(folder, _others(folder, name))
    return [problem for problem in now if replace(problem, hint="") not in before]


def settings_with_text(folder: ClusterFolder, name: str, found: Text | None) -> ClusterSettings | None:
    """Return the settings of the folder with this file, or without it; None if something is wrong."""
    others = _others(folder, name)
    try:
        return folder.said(others if found is None else _with_text(folder, others, name, found))
    except Invalid:
        return None


def _others(folder: ClusterFolder, name: str) -> dict[str, Text | Unreadable]:
    if not folder.path.exists():
        return {}
    return {other: text for other, text in folder.files().items() if other != name}


def _with_text(folder: ClusterFolder, others: Files, name: str, found: Text) -> Files:
    lists = {one: read_file(folder.path / one) for one in folder.lists({name: found})}
    return {**lists, **others, name: found}


def _problems(folder: ClusterFolder, files: Files) -> list[Problem]:
    try:
        folder.said(files)
    except Invalid as error:
        return list(error.problems)
    return []


def _list_problems(folder: ClusterFolder, found: Text, name: str) -> list[Problem]:
    """A list does not say which kind of cluster it is for, so it is valid if it is valid for any kind."""
    judged = [_of_listing(listing, found, name) for listing in folder.kinds.listings()]
    return min(judged, key=len, default=[])


def _of_listing(listing: NodeListing, found: Text, name: str) -> list[Problem]:
    try:
        nodes = listing.list_nodes(found.text, None)
    except Invalid as error:
        return [replace(problem, file=name) for problem in error.problems]
    first: dict[str, ClusterNode] = {}
    again = [node for node in nodes if first.setdefault(node.name, node) is not node]
    return [
        Problem("nodes", f"{node.name} is given twice", f"also in line {first[node.name].line}", node.line, name)
        for node in again
    ]
