"""How these tests read a foreign job: everything that is said about it, as text."""

from collections.abc import Mapping
from typing import Any

import pytest
import yaml

from muster.domain.errors import Invalid
from muster.domain.specs import JobSpec
from muster.wire.dialects.detecting import translate
from muster.wire.dialects.translation import Translation
from muster.wire.documents import read_document
from muster.wire.specs import read_source


def translated(text: str) -> Translation:
    translation = translate(read_document(text))
    assert translation is not None
    return translation


def problems(text: str, overrides: Mapping[str, Any] | None = None) -> list[str]:
    with pytest.raises(Invalid) as refused:
        read_source(text, overrides=overrides)
    return [str(problem) for problem in refused.value.problems]


def spec(text: str, overrides: Mapping[str, Any] | None = None) -> JobSpec:
    return read_source(text, overrides=overrides).spec


def told(translation: Translation) -> str:
    """A translation as a golden file holds it."""
    said = [f"warning: {warning}" for warning in translation.warnings]
    said += [f"problem: {problem}" for problem in translation.problems]
    return "\n".join([*said, yaml.safe_dump(translation.data, sort_keys=False, width=110)])


def changed(base: str, old: str, new: str) -> str:
    assert base.count(old) == 1, f"{old!r} is there {base.count(old)} times"
    return base.replace(old, new)
