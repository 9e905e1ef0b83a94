"""The text of a job spec for an editor: comments at the top say what will happen and what is wrong."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import yaml

from muster.cli.terminal import safe
from muster.client.errors import Problem


def spec_text(spec: Mapping[str, Any]) -> str:
    text: str = yaml.dump(dict(spec), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120)
    return text


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


class _Dumper(yaml.SafeDumper):
    """Writes texts of several lines as blocks, as people do."""

    def ignore_aliases(self, _data: Any) -> bool:
        return True


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.Node:
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if "\n" in value else None)


_Dumper.add_representer(str, _text)
