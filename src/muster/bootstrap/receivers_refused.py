"""What this machine has against a deployment of receivers: its folder, its ports, its database. Nothing is changed."""

import socket
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit

from muster.domain.errors import Invalid, Problem
from muster.receivers.deployments import Deployment
from muster.receivers.free_addresses import unusable
from muster.settings.receivers import ReceiversFile, Sound
from muster.stores.database_engines import parse_url


def refused_here(sound: Sound) -> Iterator[Problem]:
    if sound.deploy_dir is not None and (why := _cannot_hold(sound.deploy_dir)):
        yield Problem("deploy_dir", why, "choose another folder")
    yield from _unusable_addresses(sound)
    if sound.database is not None:
        try:
            parse_url(sound.database)
        except Invalid as error:
            yield Problem("database", error.message, error.hint)


def unknown_log_server(settings: ReceiversFile) -> Iterator[str]:
    """It may be known later, so that this is said and refuses nothing."""
    if settings.log_server is None:
        return
    host = urlsplit(settings.log_server.url).hostname
    try:
        socket.getaddrinfo(host, None)
    except OSError:
        yield f"the name of the log server, {host}, is not known on this machine"


def _cannot_hold(folder: Path) -> str:
    """Why nothing can be written there. Rights alone do not say it: disks may be read-only, and /proc takes nothing."""
    there = next(one for one in (folder, *folder.parents) if one.exists())
    if not there.is_dir():
        return f"{there} is not a folder"
    try:
        with TemporaryDirectory(prefix=".muster-", dir=there):
            return ""
    except OSError as error:
        return f"{there} cannot be written to: {error.strerror}"


def _unusable_addresses(sound: Sound) -> Iterator[Problem]:
    """Those of receivers that run here already are theirs."""
    places = {address: place for place, address in reversed(sound.addresses.items())}
    deployment = None if sound.deploy_dir is None else Deployment(sound.deploy_dir)
    free = [one for one in places if deployment is None or deployment.instance(one).running() is None]
    for address, why, hint in unusable(sorted(free, key=lambda one: places[one])):
        yield Problem(f"receivers[{places[address]}]", why, hint)
