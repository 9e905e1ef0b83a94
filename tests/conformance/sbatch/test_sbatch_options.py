"""Options of a script have the effect that they have for sbatch, or are refused: none is dropped without a word."""

import pytest

from muster.wire.dialects.detecting import translate
from muster.wire.dialects.scripts import script_document
from muster.wire.dialects.translation import Translation

pytestmark = pytest.mark.fast


def of(*options: str) -> Translation:
    """The script with these options, a line for each."""
    lines = "".join(f"#SBATCH {option}\n" for option in options)
    translation = translate(script_document(f"#!/bin/bash\n{lines}true\n"))
    assert translation is not None
    return translation


def problems(*options: str) -> list[str]:
    return [str(problem) for problem in of(*options).problems]


@pytest.mark.parametrize("begin", ["now+1hour", "now+60", "'now + 2 days'", "16:00", "tomorrow", "2030-01-20T12:34:00"])
def test_a_later_begin_is_refused(begin: str) -> None:
    [problem] = problems(f"--begin={begin}")

    assert "line 2: --begin: Muster starts no job at a given time" in problem


def test_a_begin_at_once_is_what_muster_does_anyway() -> None:
    assert problems("--begin=now") == problems("-b NOW") == []
