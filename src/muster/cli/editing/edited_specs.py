"""The text of a job spec for an editor: comments at the top say what will happen and what is wrong."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from muster.cli.terminal import safe
from muster.client.errors import Problem
from muster.lib.yaml_text import yaml_text


def spec_text(spec: Mapping[str, Any]) -> str:
    return yaml_text(spec)


def with_comments(text: str, comments: Sequence[str], problems: Sequence[Problem] = ()) -> str:
    """Puts comments before a text that has none at its top. The lines of problems, which are those of the text, become
    lines of the whole."""
    count = len(comments) + len(problems)
    moved = [problem if problem.line is None else replace(problem, line=problem.line + count) for problem in problems]
    lines = [*comments, *(f"  {problem}" for problem in moved)]
    return "".join(f"# {_one_line(line)}\n" for line in lines) + text


def without_comments(text: str) -> str:
    """Returns the text without the comments and empty lines at its top."""
    lines = text.splitlines(keepends=True)
    first = next((place for place, line in enumerate(lines) if line.strip() and not line.startswith("#")), len(lines))
    return "".join(lines[first:])


def _one_line(text: str) -> str:
    return safe(" ".join(text.split("\n"))).rstrip()
