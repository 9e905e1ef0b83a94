"""The `extras` of an OpenPAI job: an open map of which a few keys mean something to the platform."""

from typing import Any

from muster.domain.specs import Priority
from muster.wire.dialects.openpai.pai_plugins import mount_storage
from muster.wire.dialects.translation import Translator
from muster.wire.documents import Path

PRIORITIES = {"crit": Priority.URGENT, "prod": Priority.HIGH, "test": Priority.NORMAL, "oppo": Priority.LOW}
"""HiveD's priority classes in Muster's words."""


def extras(into: Translator, given: dict[str, Any]) -> None:
    """All but the runtime plugins."""
    for key, value in given.items():
        at: Path = ("extras", key)
        match key:
            case "gangAllocation" if value in (False, "false"):
                into.warn(at, "has no effect: all tasks start together or none does")
            case "hivedScheduler":
                _hived(into, into.mapping(value, at), at)
            case "jobStatusChangeNotification":
                into.warn(at, "has no effect: Muster sends no mail for a single job")
            case "storages":
                _storages(into, into.listed(value, at), at)


def _hived(into: Translator, hived: dict[str, Any], at: Path) -> None:
    for key, value in hived.items():
        if key == "jobPriorityClass" and str(value) in PRIORITIES:
            into.put(("priority",), str(PRIORITIES[str(value)]), (*at, key))
        elif key == "jobPriorityClass":
            classes = ", ".join(PRIORITIES)
            into.warn((*at, key), f"{value!r} has no effect: it is none of HiveD's classes", f"one of {classes}")
        elif key == "taskRoles":
            into.warn((*at, key), "has no effect: HiveD's cells are not Muster's", "ask for a model: resources.gpuType")
        else:
            into.warn((*at, key), "has no effect: Muster schedules without HiveD")


def _storages(into: Translator, given: list[Any], at: Path) -> None:
    if not given:
        hint = "name those that the job needs"
        into.warn(at, "has no effect: Muster mounts no storages that a job does not name", hint)
    for place, item in enumerate(given):
        source: Path = (*at, place)
        storage = into.mapping(item, source)
        if not isinstance(storage.get("name"), str):
            into.refuse(source, "names no storage", "name: NAME", settled_by=("mounts",))
            continue
        mount_storage(into, storage["name"], storage.get("mountPath"), source)
