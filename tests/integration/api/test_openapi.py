"""The API's description of itself: a golden file, and promises that the server keeps."""

import json
from pathlib import Path
from typing import Any

import pytest

from muster.server.app import create_app
from tests.conftest import Golden

DOCUMENT = Path(__file__).parents[3] / "docs" / "reference" / "openapi.json"


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    return create_app(None).openapi()


def operations(document: dict[str, Any]) -> list[dict[str, Any]]:
    return [operation for methods in document["paths"].values() for operation in methods.values()]


@pytest.mark.fast
def test_the_document_is_the_golden_file(document: dict[str, Any], golden: Golden) -> None:
    golden(DOCUMENT, json.dumps(document, indent=2, ensure_ascii=False) + "\n")


@pytest.mark.fast
def test_every_operation_has_a_name_a_summary_and_a_known_tag(document: dict[str, Any]) -> None:
    known = {tag["name"] for tag in document["tags"]}
    names = [operation["operationId"] for operation in operations(document)]
    assert len(names) == len(set(names))
    for operation in operations(document):
        assert operation["summary"]
        assert set(operation["tags"]) <= known


@pytest.mark.fast
def test_refusals_are_problems_and_never_the_frameworks_own(document: dict[str, Any]) -> None:
    assert "HTTPValidationError" not in json.dumps(document)
    for operation in operations(document):
        refusals = {code: answer for code, answer in operation["responses"].items() if int(code) >= 400}
        assert {"401", "503"} <= set(refusals)
        for code, answer in refusals.items():
            assert answer == {"$ref": f"#/components/responses/Problem{code}"}
    for answer in document["components"]["responses"].values():
        assert list(answer["content"]) == ["application/problem+json"]


@pytest.mark.fast
def test_every_reference_leads_somewhere(document: dict[str, Any]) -> None:
    for reference in _references(document):
        place: Any = document
        for part in reference.removeprefix("#/").split("/"):
            place = place[part]


def _references(value: Any) -> list[str]:
    if isinstance(value, dict):
        own = [value["$ref"]] if isinstance(value.get("$ref"), str) else []
        return own + [found for inner in value.values() for found in _references(inner)]
    return [found for inner in value for found in _references(inner)] if isinstance(value, list) else []
