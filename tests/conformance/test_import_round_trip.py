"""What `muster import` prints is the same job as the file that it was given."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from muster.cli.annotated_yaml import annotated
from muster.domain.errors import Invalid
from muster.domain.specs import JobSpec
from muster.wire.documents import read_document
from muster.wire.imported_specs import origins_as_written
from muster.wire.specs import Reading, read_source
from muster.wire.written_specs import spec_as_written

TESTS = Path(__file__).parents[1]
SUFFIXES = (".yaml", ".yml", ".json", ".sbatch", ".slurm", ".sh")
FILES = sorted(
    path
    for folder in (TESTS / "conformance", TESTS / "unit" / "wire_dialects" / "samples")
    for path in folder.rglob("*")
    if path.suffix in SUFFIXES
)
SETTLED: dict[str, Any] = {"package": None, "inputs": [], "mounts": [], "runtime": {}, "name": "imported"}
"""What a person would say of files that need it."""


def reading_of(path: Path) -> Reading | None:
    for overrides in ({}, {"name": "imported"}, SETTLED):
        try:
            return read_source(path.read_text(), overrides=overrides)
        except Invalid:
            continue
    return None


def printed(reading: Reading) -> str:
    spec = spec_as_written(reading.spec)
    return annotated(spec, origins_as_written(spec, reading.origins))


@pytest.mark.fast
@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parents[1].name}-{path.stem}")
def test_printed_spec_reads_as_the_same_job(path: Path) -> None:
    reading = reading_of(path)
    if reading is None:
        return  # it is refused, and other tests say so

    again: JobSpec = read_source(printed(reading)).spec

    assert again == reading.spec


@pytest.mark.fast
def test_files_of_every_format_are_among_those() -> None:
    read = {path.parents[1].name for path in FILES if reading_of(path) is not None}

    assert {"sbatch", "skypilot", "dstack", "wire_dialects"} <= read


@pytest.mark.fast
def test_values_say_which_line_they_came_from_and_defaults_do_not() -> None:
    script = "#!/bin/sh\n#SBATCH -J lines\n#SBATCH --time=5 --mem=1G\ntrue\n"

    lines = printed(read_source(script)).splitlines()

    assert "name: lines  # line 2: --job-name" in lines
    assert 'timeLimit: "5m"  # line 3: --time' in lines
    assert '  memory: "1Gi"  # line 3: --mem' in lines
    assert 'grace: "30s"' in lines


TEXTS = st.text(st.characters(codec="utf-8"), max_size=40)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.fast
@example({".0": ".5"}, "")
@given(st.dictionaries(TEXTS, VALUES, min_size=1, max_size=4), TEXTS)
def test_any_document_is_read_as_it_was_written(document: dict[str, Any], comment: str) -> None:
    comments = dict.fromkeys(map(str, document), comment)

    assert read_document(annotated(document, comments)).data == json.loads(json.dumps(document))
