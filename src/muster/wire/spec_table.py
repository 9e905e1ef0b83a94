"""Writes the reference page of the job spec's fields from the models."""

import json
from typing import Any

from muster.wire.spec_schema import spec_json_schema

_INTRODUCTION = """\
# The job spec

A job spec is YAML or JSON. A job with one role may have `command`, `replicas` and `resources` at the top level instead
of `roles`. This page is generated from the models that validate the spec; `muster schema` prints the JSON Schema for
editors.
"""
_PARTS = (
    ("Job", "", "The top level of the file."),
    ("Role", "RoleIn", "Each value in `roles`."),
    ("Resources", "ResourcesIn", "`resources`, for each task of a role."),
    ("Completion", "CompletionIn", "`completion` of a role, as in OpenPAI. Both keys may also be in the role itself."),
    ("Dependency", "DependencyIn", "Each entry of `after`. A plain name is short for its `job`."),
    ("Sweep", "SweepIn", "`sweep`."),
    ("Span", "SpanIn", "A value in `sweep.random`, instead of a list of values."),
    ("StopEarly", "StopEarlyIn", "`sweep.stopEarly`."),
    ("Where", "WhereIn", "`where`."),
    ("Retry", "RetryIn", "`retry`."),
    ("Runtime", "RuntimeIn", "`runtime`, with exactly one of the three keys."),
    ("Setup", "SetupIn", "`setup`. A command alone is short for its `command`."),
    ("SSH", "SshIn", "`ssh`. `true` is short for a mapping without keys."),
    ("Mount", "MountIn", "Each entry of `mounts`."),
    ("Secret", "SecretIn", "Each entry of `secrets`, with `env`, `file` or both."),
    ("Input", "InputIn", "Each entry of `inputs`. A plain path is short for its `source`."),
)


def spec_table_markdown() -> str:
    schema = spec_json_schema()
    parts = (_part(title, schema["$defs"][name] if name else schema, where) for title, name, where in _PARTS)
    return "\n".join((_INTRODUCTION, *parts))


def _part(title: str, schema: dict[str, Any], where: str) -> str:
    required = schema.get("required", ())
    rows = (_row(name, field, name in required) for name, field in schema["properties"].items())
    return f"## {title}\n\n{where}\n\n| key | type | default | meaning |\n|---|---|---|---|\n" + "".join(rows)


def _row(name: str, field: dict[str, Any], is_required: bool) -> str:
    default = field.get("default")
    absent = "required" if is_required else "" if default is None else f"`{json.dumps(default)}`"
    meaning = str(field.get("description", "")).replace("|", "\\|")
    return f"| `{name}` | {_type(field)} | {absent} | {meaning} |\n"


def _type(field: dict[str, Any]) -> str:
    if "$ref" in field:
        return _link(field["$ref"])
    if options := field.get("enum"):
        return ", ".join(f"`{option}`" for option in options)
    if choices := field.get("anyOf"):
        return " or ".join(dict.fromkeys(_type(choice) for choice in choices if choice.get("type") != "null"))
    if field.get("type") == "array":
        return f"list of {_type(field['items'])}"
    if field.get("type") == "object":
        values = field.get("patternProperties", {}).values() or [field["additionalProperties"]]
        return "mapping to " + " or ".join(_type(value) for value in values)
    kinds = field["type"] if isinstance(field["type"], list) else [field["type"]]
    return " or ".join(kinds)


def _link(reference: str) -> str:
    name = reference.rsplit("/", 1)[-1]
    title = next((title for title, model, _ in _PARTS if model == name), None)
    if title is None:
        return ", ".join(f"`{value}`" for value in spec_json_schema()["$defs"][name]["enum"])
    return f"[{title}](#{title.lower()})"
