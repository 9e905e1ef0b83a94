"""What a plan wants of the API server. Every action can be carried out twice without harm."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from muster.kubernetes.resources import Resource


@dataclass(frozen=True, slots=True)
class Create:
    """An object of the same name and owner that exists already is as good as the new one."""

    resource: Resource
    manifest: Mapping[str, Any]

    @property
    def name(self) -> str:
        return str(self.manifest["metadata"]["name"])


@dataclass(frozen=True, slots=True)
class Patch:
    """A merge patch. An object that has vanished needs none."""

    resource: Resource
    name: str
    patch: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Delete:
    """Deletes the object with that uid, and no later one of its name."""

    resource: Resource
    name: str
    uid: str
    is_forced: bool = False
    """Whether the object goes without its node's consent, which never comes from a node that is lost."""


@dataclass(frozen=True, slots=True)
class DeleteAll:
    """Deletes all objects with these labels by one request. `found` are those that are known to exist: name, uid."""

    resource: Resource
    labels: Mapping[str, str]
    found: tuple[tuple[str, str], ...]


Action = Create | Patch | Delete | DeleteAll
