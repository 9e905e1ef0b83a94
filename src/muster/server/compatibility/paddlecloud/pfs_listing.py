"""Lists files of paddlecloud's storage, and finds those that a pattern means."""

import fnmatch
import re
from collections.abc import AsyncIterator
from typing import TypedDict

from muster.domain.errors import NotFound, TooLarge
from muster.engine.requests.accounts import Principal
from muster.ports.files import Entry, FileFacts, FileKind, WrongKind
from muster.server.compatibility.paddlecloud.pfs_paths import PfsPath
from muster.server.services import Services

MAX_RESULTS = 20_000
_PAGE = 1000
_MAGIC = re.compile(r"[*?\[]")
_NANOSECONDS = 1_000_000_000


class LsResult(TypedDict):
    Path: str
    ModTime: int
    Size: int
    IsDir: bool


def result(pfs: PfsPath, facts: FileFacts) -> LsResult:
    return {
        "Path": pfs.shown,
        "ModTime": int(facts.mtime * _NANOSECONDS),
        "Size": facts.size,
        "IsDir": facts.kind is FileKind.FOLDER,
    }


async def listed(parts: Services, me: Principal, pfs: PfsPath, *, recursive: bool) -> list[LsResult]:
    """What is in a folder, each folder before what is in it; of a file only itself."""
    try:
        facts = await parts.files.stat(me.user, pfs.address)
    except NotFound:
        if pfs.rest or not pfs.user:
            raise
        return []  # a home to which nothing was written yet
    if facts.kind is not FileKind.FOLDER:
        return [result(pfs, facts)]
    results: list[LsResult] = []
    folders = [(pfs, facts)]
    while folders:
        folder, facts = folders.pop()
        if folder is not pfs:
            results.append(result(folder, facts))
        inner = []
        async for entry in entries(parts, me, folder):
            one = folder.joined(entry.name)
            if recursive and entry.facts.kind is FileKind.FOLDER:
                inner.append((one, entry.facts))
            else:
                results.append(result(one, entry.facts))
            if len(results) + len(inner) + len(folders) > MAX_RESULTS:
                raise TooLarge(f"there are more than {MAX_RESULTS} files", hint="list a folder in it")
        folders.extend(reversed(inner))
    return results


async def matching(parts: Services, me: Principal, pfs: PfsPath) -> list[PfsPath]:
    """The paths that exist and match, if `*`, `?` or `[…]` is in the path; otherwise the path, if it exists."""
    if not _MAGIC.search(pfs.rest):
        return [pfs] if await _exists(parts, me, pfs) else []
    places = [pfs.home]
    for name in pfs.rest.split("/"):
        if not _MAGIC.search(name):
            places = [place.joined(name) for place in places]
            continue
        pattern = name.replace("[^", "[!")
        places = [
            place.joined(entry.name)
            for place in places
            async for entry in _entries_if_any(parts, me, place)
            if fnmatch.fnmatchcase(entry.name, pattern)
        ]
        if len(places) > MAX_RESULTS:
            raise TooLarge(f"more than {MAX_RESULTS} files match", hint="ask for fewer")
    return [place for place in places if await _exists(parts, me, place)]


async def entries(parts: Services, me: Principal, folder: PfsPath) -> AsyncIterator[Entry]:
    """What is in a folder, by name, without uploads that are not finished."""
    cursor: str | None = None
    while True:
        page = await parts.files.list(me.user, folder.address, limit=_PAGE, cursor=cursor)
        for entry in page.entries:
            if entry.facts.kind is not FileKind.UPLOAD:
                yield entry
        if (cursor := page.cursor) is None:
            return


async def _entries_if_any(parts: Services, me: Principal, folder: PfsPath) -> AsyncIterator[Entry]:
    if not await _is_folder(parts, me, folder):
        return
    async for entry in entries(parts, me, folder):
        yield entry


async def _is_folder(parts: Services, me: Principal, pfs: PfsPath) -> bool:
    facts = await _facts(parts, me, pfs)
    return facts is not None and facts.kind is FileKind.FOLDER


async def _exists(parts: Services, me: Principal, pfs: PfsPath) -> bool:
    return await _facts(parts, me, pfs) is not None


async def _facts(parts: Services, me: Principal, pfs: PfsPath) -> FileFacts | None:
    try:
        return await parts.files.stat(me.user, pfs.address)
    except (NotFound, WrongKind):
        return None
