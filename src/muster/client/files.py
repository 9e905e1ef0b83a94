"""Files on the nodes of a cluster: `lab:data/train.csv`, or `lab/gpu1:scratch/x` on one node.

These are the single calls. `file_transfers` moves whole files, with resume and checksums.
"""

import http.client
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Any, Self

from muster.client.errors import BAD_INPUT, MusterError
from muster.client.piece_upload import put_piece
from muster.client.transport import API, Query, Request, Transport, as_json, segment
from muster.lib.texts import is_text

_REMOTE = re.compile(r"([A-Za-z0-9][A-Za-z0-9._@-]*)(?:/([^/:]+))?:(.*)", re.DOTALL)
_NO_TEXT = "files with such names are moved and removed only together with the folder that they are in"
_PAGE = 5000
_LONG_ANSWER_S = 300.0


@dataclass(frozen=True, slots=True)
class RemotePath:
    """`CLUSTER:folder/rest` or `CLUSTER/NODE:folder/rest`; an empty path is the list of folders."""

    cluster: str
    path: str = ""
    node: str | None = None

    @classmethod
    def parse(cls, text: str) -> Self:
        match = _REMOTE.fullmatch(text)
        if match is None:
            raise MusterError(
                f"{text!r} is not a path on a cluster", code=BAD_INPUT, hint="it looks like lab:data/train.csv"
            )
        if not is_text(text):
            raise MusterError(
                "a path on a cluster must be text; this one has bytes that are not", code=BAD_INPUT, hint=_NO_TEXT
            )
        return cls(match[1], match[3].lstrip("/"), match[2])

    @classmethod
    def is_remote(cls, text: str) -> bool:
        return _REMOTE.fullmatch(text) is not None

    def __str__(self) -> str:
        where = f"{self.cluster}/{self.node}" if self.node else self.cluster
        return f"{where}:{self.path}"

    @property
    def name(self) -> str:
        return self.path.rstrip("/").rpartition("/")[2]

    def child(self, name: str) -> "RemotePath":
        return replace(self, path=f"{self.path.rstrip('/')}/{name}" if self.path else name)


@dataclass(frozen=True, slots=True)
class FolderView:
    name: str
    shared: bool
    read_only: bool
    raw: Mapping[str, Any] = field(repr=False)

    @classmethod
    def of(cls, raw: Mapping[str, Any]) -> Self:
        return cls(raw["name"], bool(raw.get("shared")), bool(raw.get("readOnly")), raw)


@dataclass(frozen=True, slots=True)
class FileView:
    """`kind` is file, folder, link, upload (an unfinished one) or other; `target` is the path in a link."""

    name: str
    kind: str
    size: int
    modified_at: str
    mode: str
    version: str
    target: str | None
    raw: Mapping[str, Any] = field(repr=False)

    @classmethod
    def of(cls, raw: Mapping[str, Any]) -> Self:
        return cls(
            name=raw["name"],
            kind=raw["kind"],
            size=raw["size"],
            modified_at=raw.get("modifiedAt") or "",
            mode=raw.get("mode") or "",
            version=raw.get("version") or "",
            target=raw.get("target"),
            raw=raw,
        )

    @property
    def is_executable(self) -> bool:
        return bool(int(self.mode or "0", 8) & 0o100)


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a long operation is. `complete` is False if it was cut short; `unfinished` counts the bytes of unfinished
    uploads, which are in no other count."""

    bytes: int = 0
    files: int = 0
    folders: int = 0
    skipped: int = 0
    unfinished: int = 0
    complete: bool = True

    @classmethod
    def of(cls, raw: Mapping[str, Any]) -> Self:
        return cls(
            raw["bytes"], raw["files"], raw["folders"], raw["skipped"], raw["unfinished"], complete=bool(raw["done"])
        )


@dataclass(frozen=True, slots=True)
class Sending:
    """A file to upload, as it is announced with every piece."""

    to: RemotePath
    size: int
    sha256: str
    overwrite: bool = False
    executable: bool = False


Tell = Callable[[Progress], None]


def _say_nothing(_progress: Progress) -> None:
    return None


class Files:
    """`Client.files`.

    for entry in client.files.list("lab:data"):
        print(entry.name, entry.size)
    """

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    @property
    def server(self) -> str:
        return self._transport.server

    def folders(self, cluster: str) -> list[FolderView]:
        answer = self._json("GET", RemotePath(cluster), "/folders")
        return [FolderView.of(item) for item in answer["items"]]

    def list(self, where: RemotePath | str) -> Iterator[FileView]:
        """The entries, sorted by name; pages are fetched as needed."""
        where = _remote(where)
        cursor = None
        while True:
            answer = self._json("GET", where, "", limit=_PAGE, cursor=cursor)
            yield from map(FileView.of, answer["items"])
            cursor = answer.get("nextCursor")
            if not cursor:
                return

    def page(self, where: RemotePath | str, limit: int) -> Sequence[FileView]:
        """The first entries."""
        answer = self._json("GET", _remote(where), "", limit=limit)
        return [FileView.of(item) for item in answer["items"]]

    def stat(self, where: RemotePath | str) -> FileView:
        return FileView.of(self._json("GET", _remote(where), "/stat"))

    def find(self, where: RemotePath | str) -> FileView | None:
        """What is there; None if there is nothing."""
        try:
            return self.stat(where)
        except MusterError as error:
            if error.status == 404 and _remote(where).path.strip("/").count("/"):
                return None
            raise

    def digest(self, where: RemotePath | str, length: int | None = None) -> str:
        """The sha256 of a file, or of its first bytes."""
        run = None
        while True:
            answer = self._json("GET", _remote(where), "/digest", length=length, run=run)
            if answer["sha256"]:
                return str(answer["sha256"])
            run = answer["run"]

    def usage(self, where: RemotePath | str, *, within_s: float | None = None, tell: Tell = _say_nothing) -> Progress:
        """Count what is below; the result is not `complete` if that takes longer than `within_s`."""
        until = None if within_s is None else time.monotonic() + within_s
        return self._steps(lambda run: self._json("GET", _remote(where), "/usage", run=run), tell, until)

    def mkdir(self, where: RemotePath | str, *, parents: bool = False, private: bool = False) -> None:
        """A private folder is for the account of its owner alone."""
        where = _remote(where)
        self._post(where, "/mkdir", path=where.path, node=where.node, parents=parents, private=private or None)

    def move(
        self, where: RemotePath | str, to: RemotePath | str, *, overwrite: bool = False, tell: Tell = _say_nothing
    ) -> Progress:
        """`to` is the new path itself. Both paths are on the same cluster."""
        body = _pair(_remote(where), _remote(to))
        return self._steps(lambda run: self._post(_remote(where), "/move", **body, overwrite=overwrite, run=run), tell)

    def copy(
        self,
        where: RemotePath | str,
        to: RemotePath | str,
        *,
        recursive: bool = False,
        overwrite: bool = False,
        tell: Tell = _say_nothing,
    ) -> Progress:
        """Copy on the node itself; `to` is the new path. Both paths are on the same cluster."""
        body = {**_pair(_remote(where), _remote(to)), "recursive": recursive, "overwrite": overwrite}
        return self._steps(lambda run: self._post(_remote(where), "/copy", **body, run=run), tell)

    def remove(self, where: RemotePath | str, *, recursive: bool = False, tell: Tell = _say_nothing) -> Progress:
        where = _remote(where)
        return self._steps(lambda run: self._json("DELETE", where, "", recursive=recursive, run=run), tell)

    # -- bytes --------------------------------------------------------------------------------------------------

    def content(self, where: RemotePath, offset: int = 0) -> AbstractContextManager[http.client.HTTPResponse]:
        """The file from `offset` on, to be read by the caller. Connection errors are passed on."""
        request = Request("GET", _path(where, "/content"), _query(where), answer_s=120.0)
        return self._transport.content(request, offset)

    def put_piece(self, sending: Sending, offset: int, data: bytes) -> tuple[int, bool]:
        """How many bytes the server has now, and whether the file is complete."""
        query: Query = {
            **_query(sending.to),
            "size": sending.size,
            "sha256": sending.sha256,
            "overwrite": sending.overwrite,
            "executable": sending.executable,
        }
        return put_piece(self._transport, _path(sending.to, "/content"), query, offset, data, _LONG_ANSWER_S)

    def received(self, sending: Sending) -> tuple[int, str]:
        """How many bytes have arrived, and their digest; the digest is empty if there are none."""
        while True:
            try:
                answer = self._json("GET", sending.to, "/upload", sha256=sending.sha256, check=True)
            except MusterError as error:
                if error.status == 404:
                    return 0, ""
                raise
            if answer["sha256"]:
                return int(answer["received"]), str(answer["sha256"])

    def abort(self, sending: Sending) -> None:
        self._json("DELETE", sending.to, "/upload", sha256=sending.sha256)

    def _steps(
        self, step: Callable[[str | None], Any], tell: Tell = _say_nothing, until: float | None = None
    ) -> Progress:
        run = None
        while True:
            answer = step(run)
            progress = Progress.of(answer)
            tell(progress)
            if progress.complete or (until is not None and time.monotonic() >= until):
                return progress
            run = answer["run"]

    def _json(self, method: str, where: RemotePath, call: str, **query: Any) -> Any:
        request = Request(
            method,
            _path(where, call),
            {**_query(where), **query},
            repeatable=method == "GET",
            answer_s=_LONG_ANSWER_S if method != "GET" else None,
        )
        return self._transport.json(request)

    def _post(self, where: RemotePath, call: str, **body: Any) -> Any:
        data, headers = as_json({name: value for name, value in body.items() if value is not None})
        request = Request("POST", _path(where, call), {}, data, headers, repeatable=False, answer_s=_LONG_ANSWER_S)
        return self._transport.json(request)


def _remote(where: RemotePath | str) -> RemotePath:
    return RemotePath.parse(where) if isinstance(where, str) else where


def _path(where: RemotePath, call: str) -> str:
    return f"{API}/clusters/{segment(where.cluster)}/files{call}"


def _query(where: RemotePath) -> dict[str, Any]:
    return {"path": where.path or None, "node": where.node}


def _pair(where: RemotePath, to: RemotePath) -> dict[str, Any]:
    if where.cluster != to.cluster or (where.node and to.node and where.node != to.node):
        raise MusterError(
            f"{where} and {to} are not in the same place", code=BAD_INPUT, hint="get it here, then put it there"
        )
    return {"path": where.path, "to": to.path, "node": where.node or to.node}
