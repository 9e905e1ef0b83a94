"""The published JSON Schema and the table of fields: both made from the models, both golden."""

import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from muster.domain.errors import Invalid
from muster.wire.documents import read_document
from muster.wire.spec_schema import spec_json_schema
from muster.wire.spec_table import spec_table_markdown
from muster.wire.specs import read_spec
from tests.conftest import Golden

pytestmark = pytest.mark.fast
ROOT = Path(__file__).parents[3]
REFERENCE = ROOT / "docs" / "reference"
EXAMPLES = [
    path for path in sorted((ROOT / "examples").glob("*/job.yaml")) if not path.read_text().startswith("apiVersion:")
]
"""Those in Muster's own format; files of other systems are not the schema's affair."""


@pytest.fixture(scope="module")
def schema() -> Any:
    return jsonschema_rs.validator_for(spec_json_schema())


def test_the_published_schema_is_that_of_the_models(golden: Golden) -> None:
    golden(REFERENCE / "jobspec.schema.json", json.dumps(spec_json_schema(), indent=2, ensure_ascii=False) + "\n")


def test_the_published_table_of_fields_is_that_of_the_models(golden: Golden) -> None:
    golden(REFERENCE / "jobspec.md", spec_table_markdown())


def test_there_are_examples() -> None:
    assert len(EXAMPLES) >= 5


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.parent.name)
def test_examples_are_accepted_by_schema_and_reader_alike(path: Path, schema: Any) -> None:
    text = path.read_text()
    assert [str(error) for error in schema.iter_errors(read_document(text).data)] == []
    assert read_spec(text).name == path.parent.name


@pytest.mark.parametrize(
    "bad",
    [
        {},
        {"command": "x"},
        {"name": "-", "command": "x"},
        {"name": "a", "command": "x", "nmae": "b"},
        {"name": "a", "command": []},
        {"name": "a", "command": "x", "replicas": -1},
        {"name": "a", "command": "x", "priority": "soon"},
        {"name": "a", "command": "x", "framework": "caffe"},
        {"name": "a", "command": "x", "resources": {"cpu": True}},
        {"name": "a", "command": "x", "resources": {"gpu": 1.5}},
        {"name": "a", "command": "x", "min": 0},
        {"name": "a", "command": "x", "after": [{"on": "ended"}]},
        {"name": "a", "command": "x", "after": {"job": "b", "on": "started"}},
        {"name": "a", "command": "x", "after": [f"j{place}" for place in range(101)]},
        {"name": "a", "command": "x", "where": {"together": "room"}},
        {"name": "a", "command": "x", "where": {"node": "n1"}},
        {"name": "a", "command": "x", "env": {"1X": "y"}},
        {"name": "a", "command": "x", "env": {"X": []}},
        {"name": "a", "command": "x", "gloo": 3},
        {"name": "a", "roles": {"worker": {"command": []}}},
        {"name": "a", "roles": {"9": {"command": "x"}}},
        {"name": "a", "roles": {}},
    ],
)
def test_what_the_reader_refuses_the_schema_refuses_too(bad: dict[str, Any], schema: Any) -> None:
    assert not schema.is_valid(bad)
    with pytest.raises(Invalid):
        read_spec(json.dumps(bad))


@pytest.mark.parametrize(
    "short",
    [
        {"resources": {"gpu": 0.5}},
        {"replicas": 4, "min": 2, "max": 8},
        {"after": "prep"},
        {"after": ["prep", {"job": "other", "on": "ended"}]},
        {"after": {"job": "prep"}},
        {"where": {"nodes": "n1", "notNodes": ["n2"], "labels": {"tier": 1}}},
    ],
)
def test_every_short_form_is_accepted_by_schema_and_reader_alike(short: dict[str, Any], schema: Any) -> None:
    written = {"name": "a", "command": "x", **short}
    assert [str(error) for error in schema.iter_errors(written)] == []
    assert read_spec(json.dumps(written)).name == "a"
