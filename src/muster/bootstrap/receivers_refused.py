"""What this machine has against a deployment of receivers: its folder, its ports, its database. Nothing is changed."""

import os
import pwd
import socket
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit

from muster.domain.errors import Invalid, Problem
from muster.receivers.deployments import Deployment
from muster.receivers.free_addresses import unusable
from muster.receivers.start_files import needs_token
from muster.settings.log_server import TOKEN_VARIABLE
from muster.settings.receivers import ReceiversFile, Sound
from muster.stores.database_engines import parse_url


def refused_here(sound: Sound) -> Iterator[Problem]:
    if sound.deploy_dir is not None and (why := _cannot_hold(sound.deploy_dir)):
        yield Problem("deploy_dir", why, "choose another folder")
    elif sound.deploy_dir is not None and (why := _is_open_to_others(sound.deploy_dir)):
        yield Problem("deploy_dir", why, "what is in it is run as you: choose a folder that only you can write to")
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


def open_log_server(settings: ReceiversFile, environ: Mapping[str, str] = os.environ) -> Iterator[str]:
    """Without a token, a log server lets nobody in from other machines, and its start file would only say so."""
    one = settings.log_server
    if one is not None and one.token_file is None and needs_token(one.url) and not environ.get(TOKEN_VARIABLE):
        yield "start-log-server would not start without a token: give log_server as {url: …, tokenFile: FILE}"


def _is_open_to_others(folder: Path) -> str:
    """Whose folder it is, if somebody else could put other programs and settings into it."""
    try:
        found = folder.stat()
    except OSError:
        return ""
    if found.st_uid not in (os.geteuid(), 0):
        return f"{folder} belongs to {_name_of(found.st_uid)}"
    return f"everybody can write to {folder}" if found.st_mode & stat.S_IWOTH else ""


def _name_of(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"the user with the number {uid}"


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
