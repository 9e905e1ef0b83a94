"""Turns what the models of cluster files refuse into problems for people, each with its line and the known keys."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from pydantic import BaseModel, ValidationError

from muster.domain.errors import Invalid, Problem
from muster.lib.nearest import nearest
from muster.wire.documents import Document
from muster.wire.spec_problems import problems_of

Parts = Mapping[str, type[BaseModel]]
"""The model of each key, wherever the key occurs."""
PASSWORDS = frozenset({"password", "passwd", "psw", "pwd"})
_IN_ITS_OWN_FILE = "write it to a file that only the server's account may read, and name that file: passwordFile"


def refused(error: ValidationError, document: Document, root: type[BaseModel], parts: Parts) -> Invalid:
    found = (in_own_words(problem, root, parts) for problem in problems_of(error, document.data).first)
    return located(document, *found)


def located(document: Document, *problems: Problem) -> Invalid:
    """Returns the problems, each with its line, and without any password that somebody wrote into the file."""
    secrets = sorted(passwords_in(document.data), key=len, reverse=True)
    return Invalid(
        "", problems=tuple(replace(_without(secrets, found), line=document.line(found.path)) for found in problems)
    )


def in_own_words(problem: Problem, root: type[BaseModel], parts: Parts) -> Problem:
    """Adapts the hints: problems of the job spec name the keys of the job spec."""
    *around, last = problem.path.replace("[", ".[").split(".")
    if problem.message == "unknown key" and last in PASSWORDS:
        return replace(problem, message="is a secret, and others may read this file", hint=_IN_ITS_OWN_FILE)
    if problem.message == "unknown key":
        known = _keys_at(around, root, parts)
        guess = nearest(last, known)
        return replace(problem, hint=f"did you mean {guess}?" if guess else f"known keys: {', '.join(known)}")
    if problem.hint.startswith("a mapping with "):
        if last not in parts and last in _keys_at(around, root, parts):
            return replace(problem, hint="a mapping")  # its keys are free
        return replace(problem, hint=f"a mapping with {', '.join(_keys_at([*around, last], root, parts))}")
    return problem


def _keys_at(path: list[str], root: type[BaseModel], parts: Parts) -> list[str]:
    model = root
    for part in path:
        model = parts.get(part, model)
    return [field.alias or name for name, field in model.model_fields.items()]


def _without(secrets: list[str], problem: Problem) -> Problem:
    message = problem.message
    for secret in secrets:
        message = message.replace(secret, "…")
    return replace(problem, message=message)


def passwords_in(data: Any) -> Iterator[str]:
    """What stands under the name of a password, wherever it is in the document."""
    if isinstance(data, Mapping):
        for key, value in data.items():
            if key in PASSWORDS and value not in (None, ""):
                yield str(value)
            yield from passwords_in(value)
    elif isinstance(data, list):
        for item in data:
            yield from passwords_in(item)
