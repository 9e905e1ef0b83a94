"""Prints what job files of other systems become."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from muster.cli.annotated_yaml import annotated
from muster.cli.session import connect, say_warning
from muster.cli.tables.output import print_document
from muster.cli.terminal import echo
from muster.client.job_files import JobFile, jobs_in
from muster.client.submitting import Changes, Submission


def print_translated(file: JobFile, changes: Changes, output: str) -> None:
    """Prints a spec for each job in the file. Warnings go to stderr, and in YAML they are comments, too."""
    found = jobs_in([file], changes)
    for warning in found.warnings:
        say_warning(warning)
    client = connect()
    answers = [(one, client.translated(one)) for one in found.submissions]
    for _, answer in answers:
        for warning in answer["warnings"]:
            say_warning(warning)
    specs = [_with_files(answer["spec"], submission) for submission, answer in answers]
    if output == "json":
        print_document(specs[0] if len(specs) == 1 else {"items": specs}, output)
        return
    texts = [
        _text(file.name, spec, answer["origins"], answer["warnings"])
        for spec, (_, answer) in zip(specs, answers, strict=True)
    ]
    echo("---\n".join(texts), nl=False)


def _text(name: str, spec: Mapping[str, Any], origins: Mapping[str, str], warnings: list[str]) -> str:
    head = f"# from {' '.join(name.split())}\n" if origins else ""
    idle = "".join(f"#   {' '.join(warning.split())}\n" for warning in warnings)
    return head + annotated(spec, origins) + (f"\n# What is different here:\n{idle}" if idle else "")


def _with_files(spec: Mapping[str, Any], submission: Submission) -> dict[str, Any]:
    """The spec with the folder and the inputs that are sent with it, as they are called from here."""
    written = dict(spec)
    if submission.folder is not None:
        written["package"] = _from_here(submission.folder)
    if submission.inputs:
        written["inputs"] = [
            {"source": _from_here(one.path) if one.path else one.source, "target": one.target}
            for one in submission.inputs
        ]
    return written


def _from_here(path: Path) -> str:
    here = Path.cwd()
    return os.path.relpath(path, here) if path == here or here in path.parents else str(path)
