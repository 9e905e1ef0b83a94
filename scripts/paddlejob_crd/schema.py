"""Small builders for the OpenAPI schema of a CustomResourceDefinition."""

from typing import Any

Schema = dict[str, Any]


def text(description: str, **more: Any) -> Schema:
    return {"description": description, "type": "string", **more}


def choice(description: str, values: list[str], **more: Any) -> Schema:
    return text(description, enum=values, **more)


def number(description: str, **more: Any) -> Schema:
    return {"description": description, "type": "integer", **more}


def switch(description: str) -> Schema:
    return {"description": description, "type": "boolean"}


def moment(description: str) -> Schema:
    return text(description, format="date-time")


def fields(description: str, properties: dict[str, Schema], **more: Any) -> Schema:
    """An object with exactly these fields: the API server refuses or drops others."""
    return {"description": description, "type": "object", **more, "properties": properties}


def open_fields(description: str, properties: dict[str, Schema], **more: Any) -> Schema:
    """An object that has at least these fields, and keeps every other field as it is."""
    schema: Schema = {
        "description": description,
        "type": "object",
        **more,
        "x-kubernetes-preserve-unknown-fields": True,
    }
    if properties:
        schema["properties"] = properties
    return schema


def items(description: str, item: Schema, **more: Any) -> Schema:
    return {"description": description, "type": "array", **more, "items": item}


def named_items(description: str, item: Schema, **more: Any) -> Schema:
    """A list whose items have unique names."""
    keyed = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]}
    return items(description, item, **keyed, **more)


def table(description: str, value: Schema) -> Schema:
    """Keys that the user chooses, with values of one type."""
    return {"description": description, "type": "object", "additionalProperties": value}


def quantity() -> Schema:
    return {"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": True}


def rule(expression: str, message: str, *, at: str = "") -> Schema:
    """A check in the Common Expression Language that must hold. `at` is the field that the message is about."""
    check = {"rule": expression, "message": message}
    return {**check, "fieldPath": at} if at else check
