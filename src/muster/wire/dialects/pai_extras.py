"""The `extras` of an OpenPAI job: an open map of which a few keys mean something to the platform."""

from typing import Any

from muster.domain.specs import Priority
from muster.wire.dialects.translation import Translator
from muster.wire.documents import Path

PRIORITIES = {"crit": Priority.URGENT, "prod": Priority.HIGH, "test": Priority.NORMAL, "oppo": Priority.LOW}
"""HiveD's priority classes in Muster's words."""
_PLUGINS = "com.microsoft.pai.runtimeplugin"
_HARMLESS_PLUGINS = {
    "ssh": "has no effect: Muster opens no SSH into tasks",
    "tensorboard": "has no effect: Muster starts no TensorBoard",
}


def extras(into: Translator, given: Any) -> None:
    for key, value in into.mapping(given, ("extras",)).items():
        at: Path = ("extras", key)
        match key:
            case "gangAllocation" if value in (False, "false"):
                into.warn(at, "has no effect: all tasks start together or none does")
            case "hivedScheduler":
                _hived(into, into.mapping(value, at), at)
            case "jobStatusChangeNotification":
                into.warn(at, "has no effect: Muster sends no mail for a single job")
            case "storages":
                hint = "--set 'mounts=[{source: DIR, target: DIR}]' names a folder instead, or mounts=[]"
                into.refuse(at, "Muster has no storages by name", hint, settled_by=("mounts",))
            case _ if key == _PLUGINS:
                for place, plugin in enumerate(into.listed(value, at)):
                    _plugin(into, into.mapping(plugin, (*at, place)), (*at, place))


def _hived(into: Translator, hived: dict[str, Any], at: Path) -> None:
    for key, value in hived.items():
        if key == "jobPriorityClass" and str(value) in PRIORITIES:
            into.put(("priority",), str(PRIORITIES[str(value)]), (*at, key))
        elif key == "taskRoles":
            into.warn((*at, key), "has no effect: HiveD's cells are not Muster's", "ask for a model: resources.gpuType")
        else:
            into.warn((*at, key), "has no effect: Muster schedules without HiveD")


def _plugin(into: Translator, plugin: dict[str, Any], at: Path) -> None:
    name = str(plugin.get("plugin"))
    if name in _HARMLESS_PLUGINS:
        into.warn(at, f"the plugin {name} {_HARMLESS_PLUGINS[name]}")
    else:
        into.refuse(at, f"Muster has no runtime plugin {name!r}", "do it in the commands")
