"""The interface to files on the nodes of a cluster: the operations within a root, and their errors.

Permissions and the list of folders are not decided here.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from muster.domain.errors import Conflict, Forbidden

MAX_PIECE_BYTES = 1 << 20
"""The most that one `read` returns, and one `write` accepts."""

MAX_DEPTH = 64
"""How deep folders may be nested in what agents read, write and collect."""


class FileKind(StrEnum):
    FILE = "file"
    FOLDER = "folder"
    LINK = "link"
    UPLOAD = "upload"
    """A part of a file that is being uploaded, or whose upload was never finished."""
    OTHER = "other"
    """A device, a pipe, a socket, or a name that is not UTF-8."""


@dataclass(frozen=True, slots=True)
class Place:
    """A path below a root on a node; `shown` is how the user wrote it."""

    node: str
    root: str
    path: str
    shown: str
    user: str | None
    """The user with whose rights the node touches files. None for admins, who act with those of its agent."""


@dataclass(frozen=True, slots=True)
class FileFacts:
    kind: FileKind
    size: int
    mtime: float
    mode: int
    version: str
    """It changes whenever the file is replaced or written to."""
    is_private: bool = False
    """Whether `stat` found that it belongs to the account of the user, is no link, and that no other account may write
    to it. Listings do not say so."""


@dataclass(frozen=True, slots=True)
class Entry:
    name: str
    facts: FileFacts
    target: str | None = None
    """The target of a link, as it is written."""


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
    """The progress of a long operation. The caller asks again with the same `run` until it is done."""

    done: bool
    bytes: int = 0
    files: int = 0
    folders: int = 0
    skipped: int = 0
    """The number of devices and the like, and of files that may not be read."""
    unfinished: int = 0
    """The bytes of unfinished uploads, which no other count includes."""


@dataclass(frozen=True, slots=True)
class Upload:
    """A file that is being uploaded. `key` is the same whenever the same user uploads the same bytes to the same
    path."""

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
    """There is a folder where a file should be, a file where a folder should be, or a folder that is not empty."""

    code = "wrong-kind"


class Changed(Conflict):
    """The file has changed since it was opened."""

    code = "changed"


class DiskFull(Conflict):
    """The disk of the node is full. The part of the file that was written has been removed."""

    code = "disk-full"


class WrongOffset(Conflict):
    code = "wrong-offset"

    def __init__(self, received: int) -> None:
        super().__init__(f"{received} bytes have been received", hint=f"go on from offset {received}")
        self.received = received


class FileSpace(Protocol):
    """Methods raise NotFound, Outside, Forbidden, Exists, WrongKind, Changed, DiskFull and Invalid, and BackendError if
    the node does not answer. No operation ever reaches outside the root of its place."""

    async def list(self, place: Place, *, limit: int, cursor: str | None) -> Listing: ...

    async def stat(self, place: Place) -> FileFacts:
        """Links are followed as long as they stay inside the root."""
        ...

    async def read(self, place: Place, offset: int, limit: int, *, version: str | None = None) -> Piece:
        """Raises Changed if the file no longer has this version."""
        ...

    async def received(self, place: Place, upload: Upload) -> int | None:
        """The number of bytes that have been received, or None if there is nothing."""
        ...

    async def write(self, place: Place, upload: Upload, offset: int, data: bytes) -> int:
        """Append a piece, and return the size after it. Raises WrongOffset unless it begins where the bytes end."""
        ...

    async def commit(self, place: Place, upload: Upload) -> bool:
        """Check the digest and give the file its name. Returns False if the caller has to ask again, which is
        harmless."""
        ...

    async def abort(self, place: Place, upload: Upload) -> None: ...

    async def digest(
        self, place: Place, run: str, *, length: int | None = None, upload: Upload | None = None
    ) -> Hashed:
        """The digest of the file, of its first `length` bytes, or of what an upload has received."""
        ...

    async def resize(self, place: Place, size: int) -> None:
        """Make a file of this many zeros, which takes no room. A file that has this size already keeps its bytes."""
        ...

    async def write_at(self, place: Place, offset: int, data: bytes) -> None:
        """Write into a file that exists, in place. It may be done twice."""
        ...

    async def make_folder(self, place: Place, *, parents: bool, private: bool = False) -> None:
        """A private folder is for the account of its owner alone."""
        ...

    async def move(self, place: Place, to: Place, run: str, *, overwrite: bool) -> Tally:
        """Moves a file. Between disks, it is copied and then removed."""
        ...

    async def copy(self, place: Place, to: Place, run: str, *, recursive: bool, overwrite: bool) -> Tally: ...

    async def remove(self, place: Place, run: str, *, recursive: bool) -> Tally: ...

    async def usage(self, place: Place, run: str) -> Tally: ...
