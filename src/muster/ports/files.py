"""Files on the nodes of a cluster: what a backend can do within a root, and how it refuses.

Who may, and which folders there are, is not decided here.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from muster.domain.errors import Conflict, Forbidden

MAX_PIECE_BYTES = 1 << 20
"""What one `read` answers, and one `write` takes."""

MAX_DEPTH = 64
"""How deep folders may be nested in what agents read, write and collect."""


class FileKind(StrEnum):
    FILE = "file"
    FOLDER = "folder"
    LINK = "link"
    UPLOAD = "upload"
    """What has come of a file that somebody is putting, or never finished to."""
    OTHER = "other"
    """A device, a pipe, a socket, or a name that is no UTF-8."""


@dataclass(frozen=True, slots=True)
class Place:
    """A path below a root on a node; `shown` is how the user wrote it."""

    node: str
    root: str
    path: str
    shown: str


@dataclass(frozen=True, slots=True)
class FileFacts:
    kind: FileKind
    size: int
    mtime: float
    mode: int
    version: str
    """Another one whenever the file is another, or was written to."""


@dataclass(frozen=True, slots=True)
class Entry:
    name: str
    facts: FileFacts
    target: str | None = None
    """What a link says, wherever that leads."""


@dataclass(frozen=True, slots=True)
class Listing:
    entries: Sequence[Entry]
    cursor: str | None
    """Where the next page begins, if there is one."""


@dataclass(frozen=True, slots=True)
class Piece:
    data: bytes
    size: int
    version: str


@dataclass(frozen=True, slots=True)
class Hashed:
    """A digest that is found in steps: None until it is known."""

    sha256: str | None
    bytes: int


@dataclass(frozen=True, slots=True)
class Tally:
    """How far a long operation is. Whoever wants it done asks again with the same `run`."""

    done: bool
    bytes: int = 0
    files: int = 0
    folders: int = 0
    skipped: int = 0
    """Devices and the like, and what may not be read."""
    unfinished: int = 0
    """Bytes of uploads that are not finished; in no other count."""


@dataclass(frozen=True, slots=True)
class Upload:
    """One file on its way: `key` is the same whenever the same bytes go to the same path for the same person."""

    key: str
    size: int
    sha256: str
    overwrite: bool = False
    executable: bool = False


class Outside(Forbidden):
    """The path leads out of its folder."""

    code = "outside"


class Exists(Conflict):
    code = "exists"


class WrongKind(Conflict):
    """A folder where a file should be, a file where a folder should be, a folder that is not empty."""

    code = "wrong-kind"


class Changed(Conflict):
    """The file is not the one it was a moment ago."""

    code = "changed"


class DiskFull(Conflict):
    """Of the node. What was written of the file there is gone."""

    code = "disk-full"


class WrongOffset(Conflict):
    code = "wrong-offset"

    def __init__(self, received: int) -> None:
        super().__init__(f"{received} bytes have been received", hint=f"go on from offset {received}")
        self.received = received


class FileSpace(Protocol):
    """Errors: NotFound, Outside, Forbidden, Exists, WrongKind, Changed, DiskFull, Invalid; BackendError when the node
    does not answer. Nothing ever reaches outside the root of its place."""

    async def list(self, place: Place, *, limit: int, cursor: str | None) -> Listing: ...

    async def stat(self, place: Place) -> FileFacts:
        """Links are followed as long as they stay inside."""
        ...

    async def read(self, place: Place, offset: int, limit: int, *, version: str | None = None) -> Piece:
        """Changed if the file is not of this version any more."""
        ...

    async def received(self, place: Place, upload: Upload) -> int | None:
        """How many bytes of it are there; None if there is nothing."""
        ...

    async def write(self, place: Place, upload: Upload, offset: int, data: bytes) -> int:
        """The size after it. WrongOffset unless the piece begins where the bytes end."""
        ...

    async def commit(self, place: Place, upload: Upload) -> bool:
        """Check the digest and put the file in its place; False if asking again is needed. Repeating is harmless."""
        ...

    async def abort(self, place: Place, upload: Upload) -> None: ...

    async def digest(
        self, place: Place, run: str, *, length: int | None = None, upload: Upload | None = None
    ) -> Hashed:
        """Of the file, of its first bytes, or of what is there of an upload."""
        ...

    async def make_folder(self, place: Place, *, parents: bool) -> None: ...

    async def move(self, place: Place, to: Place, run: str, *, overwrite: bool) -> Tally:
        """Across disks by copying and removing."""
        ...

    async def copy(self, place: Place, to: Place, run: str, *, recursive: bool, overwrite: bool) -> Tally: ...

    async def remove(self, place: Place, run: str, *, recursive: bool) -> Tally: ...

    async def usage(self, place: Place, run: str) -> Tally: ...
