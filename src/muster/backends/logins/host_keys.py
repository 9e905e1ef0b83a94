"""Decides which key a host must have: the one in the cluster file, or the first one that was seen, if that is
allowed."""

import os
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import asyncssh

from muster.backends.logins.options import HostKeys, Login
from muster.domain.errors import BackendError


@dataclass(frozen=True, slots=True)
class KeptKey:
    """A key that is pinned, or the file in which the first one is kept."""

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
            "it is not the key that was kept at the first use; if the machine was set up anew, "
            f"`muster node reconnect --forget-host-key` accepts the new one; for a jump host, remove {self.place}"
        )


class _Keeper(asyncssh.SSHClient):
    """Decides about keys that are not trusted yet: it accepts the first, and no other."""

    def __init__(self, place: Path | None) -> None:
        self._place = place

    def validate_host_public_key(self, host: str, addr: str, port: int, key: asyncssh.SSHKey) -> bool:
        return self._place is not None and _keep(self._place, key)


class HostKeyStore:
    """The first key of each host, one file per host."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def of(self, login: Login) -> KeptKey | None:
        """The key that is kept; None if known_hosts decides."""
        if login.host_key is not None:
            return KeptKey(_parsed(login.host_key, "hostKey"), None)
        if login.host_keys is not HostKeys.FIRST_USE:
            return None
        place = self._place(login)
        return KeptKey(_parsed(place.read_text(), str(place)) if place.exists() else None, place)

    def forget(self, login: Login) -> None:
        self._place(login).unlink(missing_ok=True)

    def _place(self, login: Login) -> Path:
        """The file of a host. Behind another jump host the same address may be another machine."""
        way = f"{login.jump}+{login.host}" if login.jump else login.host
        host = "".join(letter if letter.isalnum() or letter in ".-+" else "_" for letter in way)
        return self._folder / f"{host}_{login.port or 22}.pub"


def _parsed(text: str, source: str) -> asyncssh.SSHKey:
    try:
        return asyncssh.import_public_key(text)
    except asyncssh.KeyImportError as error:
        raise BackendError(f"{source} is not a public key: {error}") from None


def _keep(place: Path, key: asyncssh.SSHKey) -> bool:
    """Keep the key if none is kept yet. Whether it is the kept one."""
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
