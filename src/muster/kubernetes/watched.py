"""A cache of all objects of one resource, kept up to date by a watch.

The objects are listed once, then watched. The watch continues after lost connections and restarts of the API server
from the resource version of the last event or bookmark; if that version has expired, the objects are listed again, and
the differences are reported as if they had been watched.
"""

import asyncio
import random
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

import structlog

from muster.domain.errors import MusterError
from muster.kubernetes.connection import Connection
from muster.kubernetes.errors import Denied, Expired
from muster.kubernetes.resources import Key, Object, Resource, key_of
from muster.lib.backoff import exponential

_log = structlog.get_logger("kubernetes.watched")
_WATCH_S = 300
_SHORTEST_PAUSE_S, _LONGEST_PAUSE_S = 0.05, 10.0
"""The pauses between two requests. A proxy that ends every watch at once must not keep us busy."""
_DELETIONS_KNOWN = 1000


@dataclass(frozen=True, slots=True)
class Change:
    """`before` is None for a new object, `after` for a deleted one."""

    before: Object | None
    after: Object | None

    @property
    def object(self) -> Object:
        found = self.after if self.after is not None else self.before
        assert found is not None
        return found


def _whole(one: dict[str, Any]) -> Object:
    return one


def _ignore(change: Change) -> None:
    pass


class Watched:
    """`prune` makes of an object what is worth keeping in memory. `group` returns the key by which `of` finds objects,
    such as the uid of their owner. `changed` is called for every change, also for those of the first list; it must not
    block."""

    def __init__(
        self,
        connection: Connection,
        resource: Resource,
        *,
        namespace: str | None = None,
        labels: str = "",
        fields: str = "",
        prune: Callable[[dict[str, Any]], Object] = _whole,
        group: Callable[[Object], str] = lambda one: "",
        changed: Callable[[Change], None] = _ignore,
    ) -> None:
        self._connection, self._resource, self._namespace = connection, resource, namespace
        self._labels, self._fields = labels, fields
        self._prune, self._group, self._changed = prune, group, changed
        self._objects: dict[Key, Object] = {}
        self._groups: dict[str, dict[Key, Object]] = {}
        self._version = ""
        self._failures = 0
        self._deleted: dict[Key, str] = {}
        """The version at which an object was deleted, for the latest deletions."""
        self.synced = asyncio.Event()
        """Set after the first complete list. Until then the cache must not be believed."""
        self.problem = ""
        """Why the last attempt to list or to watch failed; empty if it went well."""

    def get(self, key: Key) -> Object | None:
        return self._objects.get(key)

    def of(self, group: str) -> Collection[Object]:
        return self._groups.get(group, {}).values()

    def __iter__(self) -> Iterator[Object]:
        return iter(tuple(self._objects.values()))

    def __len__(self) -> int:
        return len(self._objects)

    @property
    def is_current(self) -> bool:
        """Whether the last attempt to list or to watch went well."""
        return self.synced.is_set() and not self._failures

    def remember(self, one: dict[str, Any]) -> None:
        """Take over the answer to one's own write, without waiting for the watch to report it. The watch may have been
        faster, and have reported that the object is gone since."""
        deleted = self._deleted.get(key_of(one), "")
        if not _is_later(deleted, _version_of(one)):
            self._put(one)

    def forget(self, key: Key) -> None:
        """Take over that one's own request deleted the object, or that the object turned out not to exist."""
        self._remove(key)

    async def run(self) -> NoReturn:
        """List and watch for ever. Whatever fails is tried again, at most every ten seconds."""
        while True:
            try:
                await self._follow()
            except Expired:
                self._version = ""
            except MusterError as error:
                self._failures, self.problem = self._failures + 1, self._words(error)
                _log.warning("watch interrupted", resource=self._resource.plural, error=str(error))
            except Exception:
                self._version, self._failures = "", self._failures + 1
                _log.exception("watch failed", resource=self._resource.plural)
            pause = max(_SHORTEST_PAUSE_S, exponential(self._failures, first_s=0.2, limit_s=_LONGEST_PAUSE_S))
            await asyncio.sleep(pause * random.uniform(0.5, 1.0))  # noqa: S311 - spreads the load, protects nothing

    async def _follow(self) -> None:
        if not self._version:
            self._version = await self._list()
            self.synced.set()
            self.problem = ""
        seconds = _WATCH_S + random.randrange(60)  # noqa: S311 - so that watches do not end all at once
        events = self._connection.watch(
            self._resource,
            self._namespace,
            version=self._version,
            seconds=seconds,
            labels=self._labels,
            fields=self._fields,
        )
        async for event in events:
            self._failures, self.problem = 0, ""
            if event.kind == "DELETED":
                self._note_deletion(event.object)
            elif event.kind != "BOOKMARK":
                self._put(event.object)
            self._version = str(event.object["metadata"]["resourceVersion"])
        self._failures, self.problem = 0, ""

    async def _list(self) -> str:
        found: set[Key] = set()
        version = ""
        async for page in self._connection.pages(
            self._resource, self._namespace, labels=self._labels, fields=self._fields
        ):
            version = page.version
            for one in page.items:
                found.add(key_of(one))
                self._put(one)
        gone = [key for key, one in self._objects.items() if key not in found and not _is_newer(one, version)]
        for key in gone:
            self._remove(key)
        return version

    def _note_deletion(self, one: dict[str, Any]) -> None:
        """An object of the same name may have been created since, and be known from the answer to one's own write."""
        key, version = key_of(one), _version_of(one)
        self._deleted.pop(key, None)
        self._deleted[key] = version
        if len(self._deleted) > _DELETIONS_KNOWN:
            del self._deleted[next(iter(self._deleted))]
        known = self._objects.get(key)
        if known is not None and not _is_newer(known, version):
            self._remove(key)

    def _words(self, error: MusterError) -> str:
        """Says it for people who need not know under which name the account is known."""
        if not isinstance(error, Denied):
            return error.message
        where = f" of namespace {self._namespace}" if self._namespace else " of all namespaces"
        return f"the account may not list {self._resource.plural}{where if self._resource.is_namespaced else ''}"

    def _put(self, one: dict[str, Any]) -> None:
        key = key_of(one)
        before = self._objects.get(key)
        if before is not None and _is_newer(before, _version_of(one)):
            return
        after = self._prune(one)
        self._objects[key] = after
        self._regroup(key, before, after)
        if before is None or _version_of(before) != _version_of(after):
            self._report(Change(before, after))

    def _remove(self, key: Key) -> None:
        before = self._objects.pop(key, None)
        if before is not None:
            self._regroup(key, before, None)
            self._report(Change(before, None))

    def _regroup(self, key: Key, before: Object | None, after: Object | None) -> None:
        old = None if before is None else self._group(before)
        new = None if after is None else self._group(after)
        if old is not None and old != new and old in self._groups:
            self._groups[old].pop(key, None)
            if not self._groups[old]:
                del self._groups[old]
        if after is not None and new is not None:
            self._groups.setdefault(new, {})[key] = after

    def _report(self, change: Change) -> None:
        try:
            self._changed(change)
        except Exception:
            _log.exception("a change was not handled", resource=self._resource.plural, key=key_of(change.object))


def _version_of(one: Object) -> str:
    return str((one.get("metadata") or {}).get("resourceVersion") or "")


def _is_newer(one: Object, version: str) -> bool:
    """Whether the object is newer than that version. Versions of one resource are numbers that grow; of others nothing
    is known, so the last to arrive counts."""
    return _is_later(_version_of(one), version)


def _is_later(one: str, other: str) -> bool:
    return one.isdigit() and other.isdigit() and int(one) > int(other)
