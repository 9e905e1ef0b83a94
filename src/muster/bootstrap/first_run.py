"""The first start makes the user who starts the server an admin, and every start writes that user a login context."""

import getpass
import json
from pathlib import Path
from typing import Any

import structlog

from muster.domain.accounts import User, UserRole
from muster.domain.errors import NotAuthenticated
from muster.lib.quantities import format_duration
from muster.server.services import Services
from muster.settings.private_files import write_private

_log = structlog.get_logger("server")
LOCAL = "local"


async def write_local_context(home: Path, url: str, services: Services, fingerprint: str | None) -> User | None:
    """Writes a token to a file that only this user can read, so that `muster` works on this machine without a login.
    The certificate is pinned, because it need not name this machine's own address. Returns the user of the token."""
    name = _own_name()
    store = services.context.store
    if not await store.users():
        await services.accounts.create_user(name, UserRole.ADMIN, None, actor=name)
        _announce_retention(services.context.keep_data_s)
    path = home / "context.json"
    contexts = _read_contexts(path)
    mine = contexts["contexts"].get(LOCAL, {})
    user = await store.user(str(mine.get("user", name)))
    if user is None:
        return None
    token = await _kept_or_new_token(services, user, mine.get("token"))
    pinned = {"fingerprint": fingerprint} if fingerprint else {}
    contexts["contexts"][LOCAL] = {"server": url, "token": token, "user": user.name, **pinned}
    contexts["current"] = contexts.get("current") or LOCAL
    write_private(path, json.dumps(contexts, indent=2) + "\n")
    return user


def copy_local_context(home: Path, url: str, shared_home: Path, fingerprint: str | None) -> None:
    """Give the home of a standby the token of the home whose data it shares, if this account can read it. A standby
    can write no token of its own."""
    path = home / "context.json"
    theirs = _read_contexts(shared_home / "context.json")["contexts"].get(LOCAL)
    if home == shared_home or theirs is None:
        return
    contexts = _read_contexts(path)
    kept = {key: value for key, value in theirs.items() if key != "fingerprint"}
    pinned = {"fingerprint": fingerprint} if fingerprint else {}
    contexts["contexts"][LOCAL] = {**kept, "server": url, **pinned}
    contexts["current"] = contexts.get("current") or LOCAL
    write_private(path, json.dumps(contexts, indent=2) + "\n")


def _announce_retention(keep_data_s: float | None) -> None:
    """Say at the first start what will be removed one day, so that nobody is surprised then."""
    if keep_data_s is not None:
        kept = format_duration(keep_data_s)
        _log.info(
            "logs, outputs and packages of ended jobs are removed after a while; jobs and specs are kept",
            after=kept,
            setting="keepData",
        )


def own_user(home: Path) -> str:
    """The Muster user to whom the account of this server belongs: the one whose token lies in its home folder."""
    mine = _read_contexts(home / "context.json")["contexts"].get(LOCAL, {})
    return str(mine.get("user", _own_name()))


async def _kept_or_new_token(services: Services, user: User, token: str | None) -> str:
    if token:
        try:
            await services.accounts.authenticate(token)
        except NotAuthenticated:
            token = None
    if token:
        return token
    _, secret = await services.accounts.create_token(user, "this machine", None, actor=user.name)
    return secret


def _read_contexts(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(path.read_text())
    except (OSError, ValueError):
        data = {}
    return data if isinstance(data, dict) and isinstance(data.get("contexts"), dict) else {"contexts": {}}


def _own_name() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "admin"
