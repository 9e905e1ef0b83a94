"""The definitions of PaddleJob under `deploy` are those that `scripts/paddlejob_crd` describes."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from muster.domain.specs import Mode
from muster.operator.job.paddle_job import ROLES, CleanPolicy, Intranet
from muster.operator.job.phases import Phase
from muster.operator.job.pod_states import PodState
from scripts.paddlejob_crd.definition import current, old, written

pytestmark = pytest.mark.fast
DEPLOY = Path(__file__).parents[3] / "deploy"
MOST_ANNOTATION_BYTES = 262_144
"""`kubectl apply` keeps the whole object in an annotation, and annotations have this limit together."""


def test_the_files_are_what_the_description_says(golden: Callable[[Path, str], None]) -> None:
    golden(DEPLOY / "v1" / "crd.yaml", written(current()))
    golden(DEPLOY / "v1beta1" / "crd.yaml", written(old()))


def test_kubectl_apply_has_room_for_the_definition() -> None:
    assert len(json.dumps(current())) < MOST_ANNOTATION_BYTES / 2


def test_every_field_has_a_description() -> None:
    version = current()["spec"]["versions"][0]
    undescribed = [
        path for path, schema in _properties(version["schema"]["openAPIV3Schema"]) if not schema.get("description")
    ]
    assert undescribed == ["metadata", "metadata.name"]  # described by Kubernetes itself


def test_the_schema_allows_what_the_operator_reads_and_writes() -> None:
    root = current()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]
    spec, status = root["spec"]["properties"], root["status"]["properties"]
    assert set(spec["intranet"]["enum"]) == {*Intranet, ""}
    assert set(spec["cleanPodPolicy"]["enum"]) == {*CleanPolicy, ""}
    assert set(status["phase"]["enum"]) >= set(Phase)
    assert set(status["mode"]["enum"]) == set(Mode)
    for role in ROLES:
        assert set(status[role]["properties"]) >= {*PodState, "replicas", "ready", "selector", "refs"}


def test_the_columns_are_those_of_the_first_releases() -> None:
    columns = [column["name"].upper() for column in current()["spec"]["versions"][0]["additionalPrinterColumns"]]
    assert columns == ["STATUS", "MODE", "PS", "WORKER", "AGE"]


def test_old_servers_get_only_what_they_know() -> None:
    """Kubernetes 1.8 to 1.15: one version with one schema for all, no defaults, no extensions, and only properties at
    the root, because there is a status subresource."""
    definition = yaml.safe_load((DEPLOY / "v1beta1" / "crd.yaml").read_text(encoding="utf-8"))
    assert definition["apiVersion"] == "apiextensions.k8s.io/v1beta1"
    spec = definition["spec"]
    assert set(spec) == {
        "group",
        "version",
        "names",
        "scope",
        "subresources",
        "additionalPrinterColumns",
        "validation",
    }
    assert all("JSONPath" in column for column in spec["additionalPrinterColumns"])
    root = spec["validation"]["openAPIV3Schema"]
    assert set(root) == {"properties"}
    known = {
        "additionalProperties",
        "anyOf",
        "description",
        "enum",
        "format",
        "items",
        "maxLength",
        "maximum",
        "minItems",
        "minLength",
        "minimum",
        "properties",
        "required",
        "type",
    }
    assert {key for _, schema in _properties(root) for key in schema} <= known


def _properties(schema: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    for name, inner in schema.get("properties", {}).items():
        here = f"{path}.{name}".lstrip(".")
        yield here, inner
        yield from _properties(inner, here)
        yield from _properties(inner.get("items", {}), f"{here}[]")
