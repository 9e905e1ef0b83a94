"""Reads settings files of programs besides the server: YAML, or Python as the old platform has it, which is never
executed. Every mistake is told with its line."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from muster.domain.errors import Invalid, Problem
from muster.wire.cluster_problems import in_own_words, located
from muster.wire.documents import Document, dotted, read_document
from muster.wire.python_files import read_python_literals
from muster.wire.spec_problems import UNKNOWN_KEY, problems_of

Model = TypeVar("Model", bound=BaseModel)
_LARGEST_BYTES = 4 << 20


def read_settings_file(path: Path, keys: str) -> Document:
    """A mapping. `keys` names some that it should have. Raises Invalid."""
    try:
        with path.open("rb") as file:
            content = file.read(_LARGEST_BYTES + 1)
        text = content.decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")
    except OSError as error:
        raise Invalid(f"cannot read {path}: {error.strerror}") from None
    except ValueError:
        raise Invalid(f"cannot read {path}: it is not UTF-8 text") from None
    if len(content) > _LARGEST_BYTES:
        raise Invalid(f"cannot read {path}: it has more than {_LARGEST_BYTES >> 20} MiB")
    try:
        document = read_python_literals(text) if path.suffix == ".py" else read_document(text)
    except Invalid as error:
        problems = tuple(replace(problem, file=str(path)) for problem in error.problems)
        raise Invalid(f"cannot read {path}: {error.message}", hint=error.hint, problems=problems) from None
    if not isinstance(document.data, dict):
        raise Invalid(f"cannot read {path}: it must have keys such as {keys}")
    return document


def validated(
    path: Path, document: Document, model: type[Model], parts: Mapping[str, type[BaseModel]], what: str
) -> Model:
    """Raises Invalid with all problems. `what` is what the file is for."""
    try:
        return model.model_validate(document.data)
    except ValidationError as error:
        said = [
            (dotted(item["loc"]), str(item["ctx"]["error"]))
            for item in error.errors(include_url=False)
            if item["type"] == "value_error"
        ]
        found = [in_own_words(problem, model, parts) for problem in problems_of(error, document.data).first]
        plain = [in_words_of_rule(problem, said) for problem in found]
        problems = tuple(replace(one, file=str(path)) for one in located(document, *plain).problems)
        raise Invalid(f"{what} in {path} are wrong", problems=problems) from None


def in_words_of_rule(problem: Problem, said: Sequence[tuple[str, str]]) -> Problem:
    """A rule of our own says enough; the value is left out, because it may contain a password. A short form is refused
    at a key that the file does not have, such as the `url` of a receiver."""
    found = (words for place, words in said if place == problem.path or place.startswith(f"{problem.path}."))
    words = next(found, None)
    return problem if words is None or problem.message == UNKNOWN_KEY else replace(problem, message=words, hint="")
