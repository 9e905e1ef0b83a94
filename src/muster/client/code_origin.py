"""Which commit of a git repository the code of a job is, for its history. The files of git say it.

The code may come from anybody, as a template or as somebody's outputs, and git runs what the settings of a repository
name: filters, fetches, hooks. So no git is started here, and only regular files inside the repository are read.
Whatever cannot be read is left out, and stops no submission.
"""

import os
import re
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import urlsplit

COMMIT, BRANCH, REMOTE = "git-commit", "git-branch", "git-remote"
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_SCHEMES = ("https", "http", "ssh", "git")
_SCP = re.compile(r"[A-Za-z0-9._-]{1,64}@([A-Za-z0-9._-]{1,255}:[A-Za-z0-9._/~+-]{1,255})")
"""An address such as git@host:path. What stands before the @ may be a token."""
_LONGEST = 256
_MOST_BYTES = 64 << 10
_MOST_REFS_BYTES = 4 << 20


def labels_of_code(folder: Path) -> dict[str, str]:
    """The labels that say where the code in this folder comes from; none if it is in no repository."""
    git = _git_folder(folder.resolve())
    if git is None:
        return {}
    shared = _shared(git)
    head = _read(git, "HEAD").strip()
    ref = head.removeprefix("ref: ")
    commit = head if ref == head else _commit(git, shared, ref)
    if _COMMIT.fullmatch(commit) is None:
        return {}
    branch = ref.removeprefix("refs/heads/") if ref.startswith("refs/heads/") else ""
    found = {COMMIT: commit, BRANCH: branch, REMOTE: shown_remote(_origin(_read(shared, "config")))}
    return {name: value for name, value in found.items() if 0 < len(value) <= _LONGEST and value.isprintable()}


def _git_folder(folder: Path) -> Path | None:
    """That of the repository around the folder. In a worktree or a submodule, `.git` is a file that names it."""
    for around in (folder, *folder.parents):
        git = around / ".git"
        if git.is_dir():
            return git.resolve()
        if git.is_file():
            named = _read(around, ".git").strip()
            found = (around / named.removeprefix("gitdir: ")).resolve()
            return found if named.startswith("gitdir: ") and {"worktrees", "modules"} & set(found.parts) else None
    return None


def _shared(git: Path) -> Path:
    """The folder in which a worktree has the branches and the settings of its repository."""
    return git.parent.parent if git.parent.name == "worktrees" and _read(git, "commondir").strip() == "../.." else git


def _commit(git: Path, shared: Path, ref: str) -> str:
    if any(part.startswith(".") or not part.isprintable() for part in ref.split("/")) or not ref.startswith("refs/"):
        return ""
    for place in (git, shared):
        if _COMMIT.fullmatch(found := _read(place, ref).strip()):
            return found
    return next((commit for commit, name in _packed(_read(shared, "packed-refs", _MOST_REFS_BYTES)) if name == ref), "")


def _packed(text: str) -> Iterator[tuple[str, str]]:
    for line in text.splitlines():
        commit, _, name = line.partition(" ")
        yield commit, name


def _origin(config: str) -> str:
    """The address of the remote `origin`, as the settings of the repository have it."""
    is_origin = False
    for line in config.splitlines():
        text = line.strip()
        if text.startswith("["):
            is_origin = text == '[remote "origin"]'
        name, is_set, value = text.partition("=")
        if is_origin and is_set and name.strip() == "url":
            return value.strip().strip('"')
    return ""


def shown_remote(url: str) -> str:
    """The address of a repository on another machine without any user, password or token; empty if it is none, or
    cannot be taken apart with certainty."""
    if found := _SCP.fullmatch(url):
        return found[1]
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return ""
    if parts.scheme not in _SCHEMES or not host or "@" in parts.path or ":" in parts.path:
        return ""
    return f"{parts.scheme}://{host}{f':{port}' if port else ''}{parts.path}"


def _read(folder: Path, name: str, most_bytes: int = _MOST_BYTES) -> str:
    """The text of a regular file that is really in the folder; empty if it is none, or larger."""
    path = folder / name
    try:
        if not path.parent.resolve().is_relative_to(folder):
            return ""
        number = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(number, "rb") as file:
            found = os.fstat(number)
            if not stat.S_ISREG(found.st_mode) or found.st_size > most_bytes:
                return ""
            return file.read(most_bytes).decode("utf-8", errors="replace")
    except (OSError, ValueError, RuntimeError):
        return ""


def with_labels(body: Mapping[str, object], labels: Mapping[str, str]) -> dict[str, object]:
    """The body of a submission with these labels, but for those that it sets by itself."""
    given = body.get("set")
    overrides = dict(given) if isinstance(given, Mapping) else {}
    if not labels or "labels" in overrides:
        return dict(body)
    added = {f"labels.{name}": value for name, value in labels.items()}
    return {**body, "set": {**added, **overrides}}
