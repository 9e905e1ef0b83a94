"""The one way to fetch a file: over as many connections as it takes, from where an earlier try stopped, and checked by
its sha256 before it gets its name. The callers decide where files go and what may be replaced.
"""

import hashlib
import http.client
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from muster.client.errors import BAD_ANSWER, MusterError, unreachable
from muster.client.piece_upload import Moved
from muster.client.retry_window import Patience
from muster.lib.partial_files import PartialFile, WrongDigest, digest_of

PART_PREFIX = ".muster-get-"
KEPT_FROM_BYTES = 4 << 20
"""A smaller file is fetched anew after an interruption, and leaves no partial file."""
_READ_BYTES = 1 << 20


def say_nothing(_count: int) -> None:
    return None


@dataclass(frozen=True, slots=True)
class Source:
    """A file on the server. `version` differs whenever its bytes differ; `etag` is the one that the answer must have,
    if it is known before."""

    shown: str
    size: int
    version: str
    server: str
    content: Callable[[int], AbstractContextManager[http.client.HTTPResponse]]
    """The answer with its bytes from an offset on. Connection errors are passed on."""
    digest: Callable[[], str]
    """Its sha256, asked for if it does not come with the bytes."""
    etag: str = ""
    is_executable: bool = False


def download(source: Source, target: Path, tell: Moved = say_nothing) -> None:
    """Replace what is there. Until the file is complete it has another name in the same folder."""
    target.parent.mkdir(parents=True, exist_ok=True)
    part = part_of(source, target)
    is_kept = source.size >= KEPT_FROM_BYTES
    if is_kept and not part.exists():
        _drop_others(target)
    with PartialFile(part, source.size) as file:
        try:
            expected = _fill(source, file, tell)
        except BaseException:
            if not is_kept:
                part.unlink(missing_ok=True)
            raise
        if source.is_executable:
            part.chmod(part.stat().st_mode | 0o100)
        try:
            file.commit(target, expected or source.digest())
        except WrongDigest as error:
            raise MusterError(
                f"{source.shown} arrived with sha256 {error.found}, not {error.expected}",
                code="digest",
                status=422,
                hint="it may have changed meanwhile: fetch it again; if this happens again, a disk may be broken",
            ) from None


def is_here(source: Source, target: Path, tell: Moved = say_nothing) -> bool:
    """Whether the target is that file already, to the last bit."""
    if not target.is_file() or target.stat().st_size != source.size:
        return False
    with target.open("rb") as file:
        return str(digest_of(file, tell=lambda: tell(0))[1].hexdigest()) == source.digest()


def part_of(source: Source, target: Path) -> Path:
    """The partial file, named by the target and the version. A hash keeps the name short enough."""
    return target.with_name(_part_prefix(target) + _short(source.version))


class Arriving:
    """The bytes of one file, over as many connections as it takes."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._etag = source.etag
        self.expected = ""
        """The sha256 of the whole file, if it came with the bytes."""

    def pieces(self, offset: int = 0) -> Iterator[bytes]:
        size = self._source.size
        patience = Patience()
        while offset < size:
            why = f"the connection broke after {offset} bytes of {self._source.shown}"
            lost = unreachable(self._source.server, why)
            try:
                for data in self._from(offset):
                    yield data
                    offset += len(data)
                    patience.restore()
            except (OSError, http.client.HTTPException) as error:
                lost = unreachable(self._source.server, str(error) or why)
            except MusterError as error:
                lost = error
            if offset < size:
                patience.wait(lost)

    def _from(self, offset: int) -> Iterator[bytes]:
        """The bytes that come over one connection."""
        with self._source.content(offset) as response:
            self._check(response)
            self.expected = response.headers.get("X-Checksum", "").removeprefix("sha256:")
            # A proxy may not know ranges, and answer from the beginning.
            unwanted = offset if response.status != http.client.PARTIAL_CONTENT else 0
            while data := response.read1(_READ_BYTES):
                wanted = data[unwanted:][: self._source.size - offset]
                unwanted = max(0, unwanted - len(data))
                if wanted:
                    offset += len(wanted)
                    yield wanted

    def _check(self, response: http.client.HTTPResponse) -> None:
        etag = response.headers.get("ETag", "")
        self._etag = self._etag or etag
        if not etag and self._source.etag:
            raise MusterError(f"{self._source.shown} came without its version", code=BAD_ANSWER, status=response.status)
        if etag != self._etag:
            raise MusterError(
                f"{self._source.shown} changed while it was fetched",
                code="changed",
                status=409,
                hint="fetch it again when nobody writes to it",
            )


def _fill(source: Source, part: PartialFile, tell: Moved) -> str:
    """The sha256 that the file should have, if the server says it with the bytes."""
    part.digest(lambda: tell(0))
    tell(part.size)
    arriving = Arriving(source)
    for data in arriving.pieces(part.size):
        part.append(data)
        tell(len(data))
    return arriving.expected


def _drop_others(target: Path) -> None:
    """Remove partial files of earlier versions."""
    prefix = _part_prefix(target)
    for path in [path for path in target.parent.iterdir() if path.name.startswith(prefix)]:
        path.unlink(missing_ok=True)


def _part_prefix(target: Path) -> str:
    return f"{PART_PREFIX}{_short(target.name)}-"


def _short(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:16]
