"""The CustomResourceDefinition of PaddleJob, for current API servers and for those up to Kubernetes 1.15."""

from typing import Any

import yaml

from scripts.paddlejob_crd.schema import Schema, fields, text
from scripts.paddlejob_crd.spec import name_rules, spec
from scripts.paddlejob_crd.status import status

NAME = "paddlejobs.batch.paddlepaddle.org"
GROUP, VERSION = NAME.partition(".")[2], "v1"
_NAMES = {
    "kind": "PaddleJob",
    "listKind": "PaddleJobList",
    "plural": "paddlejobs",
    "singular": "paddlejob",
    "shortNames": ["pdj"],
}
_COLUMNS = [
    ("Status", "string", ".status.phase", "Where the job stands"),
    ("Mode", "string", ".status.mode", "PS, Collective or Single"),
    ("PS", "string", ".status.ps.ready", "Running and wanted parameter servers"),
    ("Worker", "string", ".status.worker.ready", "Running and wanted workers"),
    ("Age", "date", ".metadata.creationTimestamp", "How long ago the job was made"),
]
_SUBRESOURCES = {
    "status": {},
    "scale": {
        "specReplicasPath": ".spec.worker.replicas",
        "statusReplicasPath": ".status.worker.replicas",
        "labelSelectorPath": ".status.worker.selector",
    },
}


def current() -> Schema:
    """For apiextensions.k8s.io/v1."""
    version = {
        "name": VERSION,
        "served": True,
        "storage": True,
        "subresources": _SUBRESOURCES,
        "additionalPrinterColumns": _columns("jsonPath"),
        "schema": {"openAPIV3Schema": _schema()},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": NAME},
        "spec": {"group": GROUP, "names": _NAMES, "scope": "Namespaced", "versions": [version]},
    }


def old() -> Schema:
    """For apiextensions.k8s.io/v1beta1. Servers without CEL and defaults get neither, and where there is a status
    subresource the oldest of them allow nothing but properties at the root of the schema."""
    return {
        "apiVersion": "apiextensions.k8s.io/v1beta1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": NAME},
        "spec": {
            "group": GROUP,
            "version": VERSION,
            "names": _NAMES,
            "scope": "Namespaced",
            "subresources": _SUBRESOURCES,
            "additionalPrinterColumns": _columns("JSONPath"),
            "validation": {"openAPIV3Schema": {"properties": _without_extensions(_schema())["properties"]}},
        },
    }


def _schema() -> Schema:
    return fields(
        "A distributed training job of PaddlePaddle. `kubectl create` starts it, and `kubectl get pdj` shows how it "
        "is.",
        {
            "apiVersion": text("batch.paddlepaddle.org/v1."),
            "kind": text("PaddleJob."),
            "metadata": {"type": "object", "properties": {"name": {"type": "string", "maxLength": 253}}},
            "spec": spec(),
            "status": status(),
        },
        required=["spec"],
        **{"x-kubernetes-validations": name_rules()},
    )


def _columns(path: str) -> list[Schema]:
    return [
        {"name": name, "type": kind, path: where, "description": meaning} for name, kind, where, meaning in _COLUMNS
    ]


def _without_extensions(schema: Any) -> Any:
    match schema:
        case dict():
            return {
                key: _without_extensions(value)
                for key, value in schema.items()
                if not key.startswith("x-kubernetes-") and not (key == "default" and not isinstance(value, dict))
            }
        case list():
            return [_without_extensions(item) for item in schema]
        case _:
            return schema


def written(definition: Schema) -> str:
    """The definition as a file for kubectl."""
    body: str = yaml.dump(definition, Dumper=_PlainDumper, sort_keys=False, width=120, allow_unicode=True)
    return _HEAD + body


_HEAD = """\
# Written from scripts/paddlejob_crd by `pytest --update-golden tests/unit/deploy`: change it there.
"""


class _PlainDumper(yaml.SafeDumper):
    """Writes what occurs twice twice: kubectl would resolve references, but a reader would have to search."""

    def ignore_aliases(self, data: Any) -> bool:
        return True
