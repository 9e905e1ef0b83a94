"""Finds the jobs in the text of a file, which may have several YAML documents.

Each job is sent as its own text, after as many empty lines as stand before it in the file, so that the server names the
lines of the file.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from muster.client.errors import BAD_INPUT, MusterError, Problem
from muster.client.foreign_files import chained, folder_of_script, is_sky_task
from muster.client.job_arrays import elements
from muster.client.kube_kinds import PROGRAMS, is_kube_job
from muster.client.submitting import Changes, Submission, from_text
from muster.lib.script_texts import is_script

_MARKER = re.compile(r"^---(?=\s|$)", re.MULTILINE)
"""YAML allows this at the beginning of a line only between documents."""
_MOST_DOCUMENTS = 1000
"""The most jobs in one request."""
_CONTENT = re.compile(r"^(?!(---)?[ \t\r]*(#|$)|%)", re.MULTILINE)
_KIND = re.compile(r"^(?:--- *)?kind:\s*['\"]?([\w.-]+)", re.MULTILINE)
_API_VERSION = re.compile(r"^(?:--- *)?apiVersion:\s*['\"]?([\w./-]+)", re.MULTILINE)
_SEND = "submit it from the folder of its code, or --set package=DIR"
_LOST = (
    "files that the script writes stay on the node for a while and are then removed; "
    "name those to keep: --set outputs=[results/]"
)
_PLACE = re.compile(r"jobs\.(\d+)(?:\.(.*))?")
_ALSO_IN = re.compile(r"(?<= is also in )jobs\.(\d+)\Z")


@dataclass(frozen=True, slots=True)
class JobFile:
    """A text with jobs in it. `folder` is the base of relative paths in it."""

    name: str
    text: str
    folder: Path


@dataclass(frozen=True, slots=True)
class FoundJobs:
    submissions: tuple[Submission, ...]
    warnings: tuple[str, ...]


def jobs_in(files: Sequence[JobFile], changes: Changes) -> FoundJobs:
    """Raises MusterError if a file has no job. Documents of Kubernetes that are no jobs are left alone, with a
    warning."""
    submissions: list[Submission] = []
    warnings: list[str] = []
    for file in files:
        documents = [] if is_script(file.text) else _documents(file.text)
        if len(documents) < 2:
            documents = [file.text]
        elif any(is_sky_task(one) for one in documents):
            submissions += _chain(file, documents, changes)
            continue
        foreign = [one for one in documents if _is_left_alone(one)]
        jobs = [one for one in documents if one not in foreign]
        if len(jobs) == 1 and _kind(jobs[0]):
            jobs, foreign = [file.text], []  # the server knows more about what belongs to a job of Kubernetes
        _refuse_programs(file.name, foreign if jobs else [])
        if not jobs and len(documents) > 1:
            raise MusterError(f"{file.name} has {len(documents)} documents, and no job among them", code=BAD_INPUT)
        for text in jobs or documents:
            each = elements(text, Path(file.name), dict(changes.overrides)) or [{}]
            submissions += [_submission(file, text, _with(changes, more)) for more in each]
        warnings += [_left_alone(file.name, text) for text in foreign if jobs]
        if is_script(file.text) and "outputs" not in changes.overrides:
            warnings.append(f"{file.name}: {_LOST}")
        if is_script(file.text) and folder_of_script(Path.cwd()) is None and "package" not in changes.overrides:
            warnings.append(
                f"{file.name}: your home folder is not sent, and the script starts in an empty one; {_SEND}"
            )
    return FoundJobs(tuple(submissions), tuple(warnings))


def _refuse_programs(name: str, beside: Sequence[str]) -> None:
    programs = [text for text in beside if _kind(text) in PROGRAMS]
    if programs:
        raise MusterError(
            "the file has a program beside the job, which Muster would not start",
            code=BAD_INPUT,
            hint="start it elsewhere, and take it out of the file",
            problems=[Problem("", f"is a {_kind(text)}", "", line=_first_line(text), file=name) for text in programs],
        )


def _submission(file: JobFile, text: str, changes: Changes) -> Submission:
    return replace(from_text(text, file.folder, changes, Path(file.name)), file=file.name)


def _chain(file: JobFile, documents: list[str], changes: Changes) -> list[Submission]:
    return [_submission(file, text, _with(changes, more)) for text, more in chained(documents, Path(file.name))]


def _with(changes: Changes, more: Mapping[str, Any]) -> Changes:
    """What a person has changed wins, but the names of several jobs are their own."""
    own = {key: value for key, value in changes.overrides.items() if key != "name" or "name" not in more}
    return replace(changes, overrides={**more, **own})


def located(error: MusterError, submissions: Sequence[Submission]) -> MusterError:
    """Returns the error of a request with many jobs, with the files of its problems instead of their places."""
    problems = [_located(problem, submissions) for problem in error.problems]
    return MusterError(
        error.message,
        code=error.code,
        status=error.status,
        hint=error.hint,
        problems=sorted_by_file(problems, submissions),
        warnings=error.warnings,
        raw=error.raw,
        retry_after_s=error.retry_after_s,
    )


def sorted_by_file(problems: Iterable[Problem], submissions: Sequence[Submission]) -> list[Problem]:
    order = {name: place for place, name in reversed(list(enumerate(one.file for one in submissions)))}
    found = sorted(problems, key=lambda problem: (order.get(problem.file, len(order)), problem.line or 0))
    return list(dict.fromkeys(found))  # the jobs of an array have the same ones


def _located(problem: Problem, submissions: Sequence[Submission]) -> Problem:
    found = _PLACE.fullmatch(problem.path)
    if found is None or int(found[1]) >= len(submissions):
        return problem
    other = _ALSO_IN.search(problem.message)
    message = problem.message
    if other is not None and int(other[1]) < len(submissions):
        message = message[: other.start()] + submissions[int(other[1])].file
    return replace(problem, path=found[2] or "", message=message, file=submissions[int(found[1])].file)


def _documents(text: str) -> list[str]:
    starts = [0, *(match.start() for match in _MARKER.finditer(text) if match.start()), len(text)]
    if len(starts) > _MOST_DOCUMENTS:
        raise MusterError(
            f"the file has more than {_MOST_DOCUMENTS} documents", code=BAD_INPUT, hint="use several files"
        )
    parts = [(start, text[start:end]) for start, end in pairwise(starts)]
    return ["\n" * text.count("\n", 0, start) + part for start, part in parts if _CONTENT.search(part)]


def _kind(text: str) -> str:
    found = _KIND.search(text)
    return found[1] if found and _API_VERSION.search(text) else ""


def _is_left_alone(text: str) -> bool:
    version = _API_VERSION.search(text)
    return bool(_kind(text)) and not is_kube_job(_kind(text), version[1] if version else "")


def _left_alone(file: str, text: str) -> str:
    version = _API_VERSION.search(text)
    kind = f"{_kind(text)} ({version[1] if version else ''})"
    return f"{file}, line {_first_line(text)}: {kind} is left alone: only jobs are submitted"


def _first_line(text: str) -> int:
    return len(text) - len(text.lstrip("\n")) + 1
