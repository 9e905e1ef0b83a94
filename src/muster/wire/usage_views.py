"""Builds what the API answers about how busy nodes are. The agent's names are snake_case, the API's camelCase."""

from functools import lru_cache
from typing import Any, cast

from muster.api.usage import UsageSample
from muster.lib.clock import iso
from muster.ports.capabilities import NodeUsage


def node_usage_view(usage: NodeUsage) -> dict[str, Any]:
    """The metrics of one sample, as the agent measured them."""
    found: dict[str, Any] = _camel(usage.metrics)
    return found


def sample_view(usage: NodeUsage) -> UsageSample:
    return cast("UsageSample", {"at": iso(usage.received_at), **node_usage_view(usage)})


def _camel(value: Any) -> Any:
    if isinstance(value, dict):
        return {_camel_name(key): _camel(inner) for key, inner in value.items()}
    return [_camel(item) for item in value] if isinstance(value, list) else value


@lru_cache(maxsize=1024)
def _camel_name(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)
