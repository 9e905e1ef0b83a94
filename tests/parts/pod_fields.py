"""An object of Kubernetes with a value in every field that its API server describes."""

from collections.abc import Mapping
from typing import Any

_QUANTITIES = ("io.k8s.apimachinery.pkg.api.resource.Quantity", "io.k8s.apimachinery.pkg.util.intstr.IntOrString")
_TIME = "2026-01-01T00:00:00Z"


def every_field(schemas: Mapping[str, Any], name: str) -> Any:
    """`schemas` are those of the server's OpenAPI document. Values have the right types, but no sense."""
    if name in _QUANTITIES:
        return "1"
    return _value(schemas, schemas[name])


def _value(schemas: Mapping[str, Any], schema: Mapping[str, Any]) -> Any:
    named = schema.get("$ref") or next((one["$ref"] for one in schema.get("allOf", ()) if "$ref" in one), None)
    if named is not None:
        return every_field(schemas, str(named).rpartition("/")[2])
    match schema.get("type"):
        case "object" if "properties" in schema:
            return {name: _value(schemas, inner) for name, inner in schema["properties"].items()}
        case "object":
            return {"key": _value(schemas, schema.get("additionalProperties", {"type": "string"}))}
        case "array":
            return [_value(schemas, schema["items"])]
        case "integer" | "number":
            return 1
        case "boolean":
            return True
        case _ if schema.get("format") == "date-time":
            return _TIME
        case _:
            return schema.get("enum", ["Never"])[0]
