"""Which experiments match: the few conditions and orders that clients ask for."""

from collections.abc import Sequence

from muster.domain.errors import Invalid
from muster.domain.experiments.experiments import Experiment
from muster.server.compatibility.mlflow.filters import Condition, Order, Value, conditions_on, orders_on

ATTRIBUTES = {name: name for name in ("name", "creation_time", "last_update_time", "experiment_id")}
NUMBERS = ("creation_time", "last_update_time")
_VIEWS = {"ACTIVE_ONLY": (False,), "DELETED_ONLY": (True,), "ALL": (False, True)}


def conditions(text: str | None) -> list[Condition]:
    """Raises Invalid."""
    return conditions_on(text, ATTRIBUTES, NUMBERS)


def orders(texts: Sequence[str]) -> list[Order]:
    """Raises Invalid."""
    return orders_on(texts, ATTRIBUTES)


def matching(
    found: Sequence[Experiment], wanted: Sequence[Condition], order: Sequence[Order], view: str
) -> list[Experiment]:
    """Those that match, in their order. Raises Invalid."""
    kept = [
        one
        for one in found
        if one.is_deleted in stages(view) and all(each.holds(_value(one, each.kind, each.name)) for each in wanted)
    ]
    for by in reversed(order):
        kept.sort(key=lambda one: str(_value(one, by.kind, by.name)), reverse=by.is_descending)
    return kept


def stages(view: str) -> tuple[bool, ...]:
    """Whether those are wanted that were deleted, and those that were not."""
    if view not in _VIEWS:
        raise Invalid(f"{view!r} is not a view", hint=f"use one of: {', '.join(_VIEWS)}")
    return _VIEWS[view]


def _value(one: Experiment, kind: str, name: str) -> Value:
    match kind, name:
        case "tags", _:
            return one.tags.get(name)
        case _, "name":
            return one.name
        case _, "experiment_id":
            return one.id
        case _, "creation_time":
            return one.created_at * 1000
        case _, "last_update_time":
            return one.updated_at * 1000
        case _:
            return None
