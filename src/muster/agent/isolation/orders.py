"""How the server wants a task to be isolated, as part of its launch request."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, Mapping, Optional, Tuple

from muster.agent.requests import bad_request, is_clean, text, whole_number

NONE, USER, NAMESPACE = "none", "user", "namespace"
_MODES = (NONE, USER, NAMESPACE)


@dataclass(frozen=True)
class VisibleFolder:
    path: str
    read_only: bool


@dataclass(frozen=True)
class IsolationOrder:
    mode: str
    owner: str
    owner_id: str  # empty if the server does not know the owner any more
    account: Optional[str]  # of the cluster file
    uid: int  # the number for an owner without an account
    first_uid: int
    last_uid: int
    folders: Tuple[VisibleFolder, ...]


def isolation_order(value: Any) -> Optional[IsolationOrder]:
    """Returns None if the task belongs to the person under whose account this agent runs."""
    if value is None:
        return None
    if not isinstance(value, dict) or value.get("mode") not in _MODES:
        raise bad_request("isolation must be null or an object with a mode: {}".format(", ".join(_MODES)))
    first = whole_number(value, "first_uid", 1000, (1 << 31) - 1)
    last = whole_number(value, "last_uid", first, (1 << 31) - 1)
    return IsolationOrder(
        mode=value["mode"],
        owner=text(value, "owner"),
        owner_id=str(value.get("owner_id") or ""),
        account=None if value.get("account") is None else text(value, "account"),
        uid=whole_number(value, "uid", first, last),
        first_uid=first,
        last_uid=last,
        folders=tuple(_folder(item) for item in value.get("folders") or ()),
    )


def _folder(item: Mapping[str, Any]) -> VisibleFolder:
    path = text(item, "path")
    if not os.path.isabs(path) or not is_clean(path) or ".." in path.split("/"):
        raise bad_request("folders are visible by their absolute paths, not by {!r}".format(path))
    return VisibleFolder(path, bool(item.get("read_only")))
