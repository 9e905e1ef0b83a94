"""A deployment: the folder that holds the folders of its receivers, and which of them are wanted to run."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from muster.receivers.addresses import Address, parse_address
from muster.receivers.instances import STORE, Instance
from muster.receivers.small_files import locked, read_json, write_json

_STATE = "receivers.json"


@dataclass(frozen=True, slots=True)
class Wanted:
    is_running: bool
    settings: str
    """A digest of the settings that need a new start."""
    restarts: int = 0
    """How often somebody has asked for a restart."""

    @property
    def generation(self) -> str:
        return f"{self.settings}-{self.restarts}"


WantedByAddress = Mapping[Address, Wanted]


@dataclass(frozen=True, slots=True)
class Deployment:
    folder: Path

    @property
    def store(self) -> Path:
        """All receivers share it as their home."""
        return self.folder / STORE

    @property
    def supervisor_lock(self) -> Path:
        return self.folder / "supervisor.lock"

    @property
    def supervisor_log(self) -> Path:
        return self.folder / "supervisor.log"

    def exists(self) -> bool:
        return (self.folder / _STATE).exists()

    def wanted(self) -> dict[Address, Wanted]:
        return {parse_address(name): _wanted(one) for name, one in read_json(self.folder / _STATE).items()}

    def instances(self) -> list[Instance]:
        return [Instance(self.folder, address) for address in sorted(self.wanted())]

    def instance(self, address: Address) -> Instance:
        return Instance(self.folder, address)

    def change(self, change: Callable[[dict[Address, Wanted]], WantedByAddress]) -> None:
        """Raises OSError."""
        with locked(self.folder / ".receivers.lock"):
            found = change(self.wanted())
            values = {
                str(address): {"running": one.is_running, "settings": one.settings, "restarts": one.restarts}
                for address, one in sorted(found.items())
            }
            write_json(self.folder / _STATE, values)

    def want(self, addresses: list[Address], *, is_running: bool, again: bool = False) -> None:
        """`again` asks for a new start also of those that run."""

        def changed(found: dict[Address, Wanted]) -> WantedByAddress:
            for address in addresses:
                before = found[address]
                found[address] = replace(before, is_running=is_running, restarts=before.restarts + again)
            return found

        self.change(changed)

    def forget(self, addresses: list[Address]) -> None:
        self.change(lambda found: {address: one for address, one in found.items() if address not in addresses})


def _wanted(values: Mapping[str, Any]) -> Wanted:
    return Wanted(bool(values["running"]), str(values["settings"]), int(values["restarts"]))


@dataclass(frozen=True, slots=True)
class Register:
    """The deployments of this account, so that receivers are found by their names alone."""

    home: Path

    @classmethod
    def of_account(cls, environ: Mapping[str, str] = os.environ) -> "Register":
        return cls(Path(environ.get("MUSTER_HOME") or "~/.muster").expanduser().absolute())

    def deployments(self) -> list[Deployment]:
        found = read_json(self._path).get("deployments", [])
        return [one for one in (Deployment(Path(text)) for text in found) if one.exists()]

    def add(self, deployment: Deployment) -> None:
        """Raises OSError."""
        self.home.mkdir(mode=0o700, parents=True, exist_ok=True)
        with locked(self.home / ".deployments.lock"):
            folders = [one.folder for one in self.deployments()]
            if deployment.folder not in folders:
                write_json(self._path, {"deployments": [str(folder) for folder in (*folders, deployment.folder)]})

    @property
    def _path(self) -> Path:
        return self.home / "deployments.json"
