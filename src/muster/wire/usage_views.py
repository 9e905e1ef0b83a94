"""What the API shows of how busy nodes are. The agent's names are snake_case, the API's camelCase."""

from typing import Any

from muster.lib.clock import iso
from muster.ports.backend import NodeUsage
from muster.wire.views import View


def figures_view(usage: NodeUsage) -> View:
    found: View = _camel(usage.figures)
    return found


def sample_view(usage: NodeUsage) -> View:
    return {"at": iso(usage.heard_at), **figures_view(usage)}


def _camel(value: Any) -> Any:
    if isinstance(value, dict):
        return {_camel_name(key): _camel(inner) for key, inner in value.items()}
    return [_camel(item) for item in value] if isinstance(value, list) else value


def _camel_name(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)
