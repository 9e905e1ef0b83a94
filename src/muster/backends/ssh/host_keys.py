"""Which key a host must show: the one written in the cluster file, or the one it showed first where that is allowed."""

import os
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import asyncssh

from muster.backends.ssh.options import HostKeys, Login
from muster.domain.errors import BackendError


@dataclass(frozen=True, slots=True)
class KeptKey:
    """A key that is pinned, or a place where the first one is kept."""

    pinned: asyncssh.SSHKey | None
    place: Path | None

    @property
    def trusted(self) -> Any:
        return ([self.pinned] if self.pinned is not None else [], [], [])

    @property
    def client_factory(self) -> Callable[[], asyncssh.SSHClient]:
        return lambda: _Keeper(self.place if self.pinned is None else None)

    def complaint(self) -> str:
        if self.place is None:
            return "it is not the hostKey of the cluster file; if the machine was set up anew, write its new key there"
        return (
            "it is another than at the first use; if the machine was set up anew, "
            f"`muster node reconnect --forget-host-key` takes the new one, of a jump host remove {self.place}"
        )


class _Keeper(asyncssh.SSHClient):
    """Asked about keys that are not trusted yet: takes the first, and no other."""

    def __init__(self, place: Path | None) -> None:
        self._place = place

    def validate_host_public_key(self, host: str, addr: str, port: int, key: asyncssh.SSHKey) -> bool:
        return self._place is not None and _keep(self._place, key)


class HostKeyBook:
    """The keys that were shown first, one file a host."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def of(self, login: Login) -> KeptKey | None:
        """None: known_hosts decides."""
        if login.host_key is not None:
            return KeptKey(_parsed(login.host_key, "hostKey"), None)
        if login.host_keys is not HostKeys.FIRST_USE:
            return None
        place = self._place(login)
        return KeptKey(_parsed(place.read_text(), str(place)) if place.exists() else None, place)

    def forget(self, login: Login) -> None:
        self._place(login).unlink(missing_ok=True)

    def _place(self, login: Login) -> Path:
        """Behind other jump hosts the same address may be another machine."""
        way = f"{login.jump}+{login.host}" if login.jump else login.host
        host = "".join(letter if letter.isalnum() or letter in ".-+" else "_" for letter in way)
        return self._folder / f"{host}_{login.port or 22}.pub"


def _parsed(text: str, source: str) -> asyncssh.SSHKey:
    try:
        return asyncssh.import_public_key(text)
    except asyncssh.KeyImportError as error:
        raise BackendError(f"{source} is no public key: {error}") from None


def _keep(place: Path, key: asyncssh.SSHKey) -> bool:
    """Whether this was the first: whoever comes second has lost."""
    place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    partial = place.with_name(f".{place.name}.{secrets.token_hex(4)}")
    partial.write_bytes(key.export_public_key("openssh"))
    try:
        os.link(partial, place)
    except FileExistsError:
        return asyncssh.import_public_key(place.read_text()) == key
    finally:
        partial.unlink()
    return True
