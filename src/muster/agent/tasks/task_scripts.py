"""Which programs of the admin run around a task, and what they are told about it. Nothing here is the user's own."""

from __future__ import annotations

from typing import Any, Mapping, NamedTuple, Optional, Tuple

from muster.agent.requests import argv, bad_request, is_clean, seconds


class Script(NamedTuple):
    argv: Tuple[str, ...]
    timeout_s: float


class TaskScripts(NamedTuple):
    prolog: Optional[Script]
    epilog: Optional[Script]
    variables: Mapping[str, str]


def requested(value: Any) -> Optional[TaskScripts]:
    """What a launch request says."""
    if value is None:
        return None
    variables = value.get("variables") if isinstance(value, dict) else None
    if not isinstance(variables, dict) or not all(is_clean(item) for pair in variables.items() for item in pair):
        raise bad_request("scripts must have variables, which are texts")
    return TaskScripts(_script(value.get("prolog")), _script(value.get("epilog")), variables)


def remembered(value: Any) -> Optional[TaskScripts]:
    """What the facts of a task say, which are a request that was accepted before."""
    if not isinstance(value, list) or len(value) != 3:
        return None
    prolog, epilog = (None if one is None else Script(tuple(one[0]), float(one[1])) for one in value[:2])
    return TaskScripts(prolog, epilog, value[2])


def _script(value: Any) -> Optional[Script]:
    return None if value is None else Script(argv(value), seconds(value, "timeout_s"))
