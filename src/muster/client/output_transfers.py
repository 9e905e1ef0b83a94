"""Fetches the outputs of a job. Files that are here already are not fetched again, and no name that the server sends
leads out of the folder, or makes it a repository of Git, which runs programs that such files name.
"""

import errno
import os
from collections.abc import Callable
from dataclasses import replace
from http import HTTPStatus
from pathlib import Path

from muster.client.downloading import Source, download, is_here
from muster.client.errors import NOT_FOUND, MusterError
from muster.client.output_views import OutputsView, OutputView
from muster.client.received_tree import Moved, beside, put
from muster.client.transport import Request, Transport, segment

Progress = Callable[[int, int], None]
"""Called with the number of bytes that are here and with the number of all bytes."""
_NO_SUCH_NAMES = (errno.EINVAL, errno.EILSEQ, errno.ENAMETOOLONG)
_BAD_NAME = "bad-name"
_NAMED = 5


def download_all(
    transport: Transport,
    address: str,
    outputs: OutputsView,
    folder: Path,
    progress: Progress | None = None,
) -> list[Path]:
    """Fetch the outputs at this address. The result is where each file is now. If some cannot be had, the others are
    fetched all the same, and then a MusterError names those."""
    total = sum(output.size for output in outputs.items)
    done = 0

    def tell(count: int) -> None:
        nonlocal done
        done += count
        if progress is not None:
            progress(done, total)

    places: list[Path] = []
    failed: list[str] = []
    for output in outputs.items:
        source = _source(transport, address, outputs.attempt, output)
        try:
            place = place_in(folder, output.path)
            if is_here(source, place):
                tell(output.size)
            else:
                download(source, place, tell)
        except (MusterError, OSError) as error:
            if not _concerns_one_file(error):
                raise
            failed.append(f"{output.path!r} ({error.strerror if isinstance(error, OSError) else error})")
        else:
            places.append(place)
    if failed:
        count = f"{len(failed)} of {len(outputs.items)} outputs cannot be downloaded"
        shown = ", ".join(failed[:_NAMED]) + (f" and {len(failed) - _NAMED} more" if len(failed) > _NAMED else "")
        raise MusterError(f"{count}: {shown}", code=NOT_FOUND, hint=f"the others are in {folder}")
    return places


def copy_output(transport: Transport, address: str, outputs: OutputsView, path: str, here: Path, moved: Moved) -> bool:
    """Fetch one output, or those in one folder, to `here`, or into it if that is a folder. False if there is none."""
    items = tuple(one for one in outputs.items if one.path == path or one.path.startswith(f"{path}/"))
    if not items:
        return False
    target = here / path.rpartition("/")[2] if here.is_dir() else here
    told = 0

    def progress(done: int, total: int) -> None:
        nonlocal told
        moved(done - told)
        told = done

    with beside(target) as folder:
        download_all(transport, address, replace(outputs, items=items), folder, progress)
        put(place_in(folder, path), target)
    return True


def place_in(folder: Path, path: str) -> Path:
    """Raises MusterError for a name that leads out of the folder, or into a repository of Git."""
    parts = path.split("/")
    if any(part in ("", ".", "..") or "\0" in part or _is_separated(part) for part in parts):
        raise MusterError(f"the server names an output {path!r}, which does not stay in the folder", code=_BAD_NAME)
    if any(part.lower() == ".git" for part in parts):
        raise MusterError(
            "is in a repository of Git, which could run programs here; keep an archive of it", code=_BAD_NAME
        )
    return folder.joinpath(*parts)


def _is_separated(part: str) -> bool:
    return any(one in part for one in (os.sep, os.altsep) if one)


def _concerns_one_file(error: MusterError | OSError) -> bool:
    """Whether other files may still be had: the server does not serve this one, or this machine takes no such name."""
    if isinstance(error, OSError):
        return error.errno in _NO_SUCH_NAMES
    return error.status == HTTPStatus.NOT_FOUND or error.code in ("digest", _BAD_NAME)


def _source(transport: Transport, address: str, attempt: int, output: OutputView) -> Source:
    where = "/".join(segment(part) for part in output.path.split("/"))
    request = Request("GET", f"{address}/{where}", {"attempt": attempt or None})
    return Source(
        output.path,
        output.size,
        output.sha256,
        transport.server,
        lambda offset: transport.content(request, offset),
        lambda: output.sha256,
    )
