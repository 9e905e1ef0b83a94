"""The devices other than GPUs that the cluster's file gives to nodes: whether their files are there."""

from collections.abc import Callable, Mapping

from muster.backends.agents.connection import AgentNode
from muster.domain.resources import DeviceFiles, ExtendedDevice

SOURCE = "devices"
_UNCHECKED = "it has not been checked yet"


class DeviceWatch:
    """`files_of` says which devices a node should have, by the name of the node."""

    def __init__(self, files_of: Callable[[str], DeviceFiles]) -> None:
        self._files_of = files_of

    def declare(self, agent: AgentNode) -> None:
        """Give the node its devices before they are checked, so that jobs wait for them and are not refused."""
        files = self._files_of(agent.node.name)
        if not files and not agent.node.capacity.extended:
            return
        known = {(one.resource, one.paths): one.out_of_service for one in agent.node.capacity.extended}
        reasons = {key: known.get(key, _UNCHECKED) for key in _keys(files)}
        agent.note_extended(_devices(files, reasons))

    async def probe(self, agent: AgentNode) -> None:
        """Ask the node for the files. A device that lacks one is out of service."""
        files = self._files_of(agent.node.name)
        if not files and not agent.node.capacity.extended:
            return
        paths = sorted({path for _, paths in _keys(files) for path in paths})
        problems: Mapping[str, str] = (await agent.ask("check_devices", paths=paths))["problems"] if paths else {}
        if files != self._files_of(agent.node.name):
            return  # the file has changed meanwhile, and another probe is on its way
        reasons = {
            (resource, own): "; ".join(f"{path} {problems[path]}" for path in own if path in problems)
            for resource, own in _keys(files)
        }
        devices = _devices(files, reasons)
        agent.note_extended(devices)
        bad = [device for device in devices if device.out_of_service]
        agent.note_alerts(
            SOURCE, [f"{one.resource} {one.index} is out of service: {one.out_of_service}" for one in bad]
        )


def _keys(files: DeviceFiles) -> list[tuple[str, tuple[str, ...]]]:
    return [(resource, paths) for resource, devices in files.items() for paths in devices]


def _devices(files: DeviceFiles, reasons: Mapping[tuple[str, tuple[str, ...]], str]) -> tuple[ExtendedDevice, ...]:
    return tuple(
        ExtendedDevice(resource, index, paths, reasons[resource, paths])
        for resource, devices in files.items()
        for index, paths in enumerate(devices)
    )
