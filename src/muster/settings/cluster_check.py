"""Strict checking of cluster files before a server uses them: every mistake is reported, and no fallback is used."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from muster.domain.clusters import Member
from muster.domain.errors import Invalid, Problem
from muster.settings.cluster_files import Files, Text, Unreadable, is_document, read_file
from muster.settings.clusters import ClusterFolder
from muster.wire.physical_clusters import LOCAL
from muster.wire.physical_schema import LoginIn
from muster.wire.slaver_list import read_slaver_list


def check_folder(path: Path) -> list[Problem]:
    """Return the problems of the files in the folder."""
    folder = ClusterFolder(path, (LOCAL,))
    try:
        return _problems(folder, folder.files())
    except Invalid as error:
        return list(error.problems)


def check_file(path: Path, file: Path) -> list[Problem]:
    """Return the problems that the file would cause in the folder, where it replaces a file of the same name.

    Problems that the folder has without it are not included. A file that is not YAML is a list of nodes and is checked
    by itself.
    """
    found = read_file(file)
    if isinstance(found, Unreadable):
        return [Problem("", found.message, found.hint, file=str(file))]
    if not is_document(file.name):
        return _of_list(found, str(file))
    folder = ClusterFolder(path, (LOCAL,))
    others = {name: text for name, text in folder.files().items() if name != file.name} if path.exists() else {}
    lists = {name: read_file(path / name) for name in folder.lists({file.name: found})}
    before = {replace(problem, hint="") for problem in _problems(folder, others)}
    now = _problems(folder, {**lists, **others, file.name: found})
    return [problem for problem in now if replace(problem, hint="") not in before]


def _problems(folder: ClusterFolder, files: Files) -> list[Problem]:
    try:
        folder.said(files)
    except Invalid as error:
        return list(error.problems)
    return []


def _of_list(found: Text, name: str) -> list[Problem]:
    try:
        members = read_slaver_list(found.text, LoginIn())
    except Invalid as error:
        return [replace(problem, file=name) for problem in error.problems]
    first: dict[str, Member] = {}
    again = [member for member in members if first.setdefault(member.name, member) is not member]
    return [
        Problem("nodes", f"{member.name} is given twice", f"also in line {first[member.name].line}", member.line, name)
        for member in again
    ]


def check(folder: Path, files: Sequence[Path]) -> list[Problem]:
    """Check the given files, or the whole folder if none are given."""
    return [problem for file in files for problem in check_file(folder, file)] if files else check_folder(folder)
