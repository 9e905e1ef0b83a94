"""Fetches the outputs of a job. Files that are here already are not fetched again, and no name that the server sends
leads out of the folder.
"""

from collections.abc import Callable
from pathlib import Path

from muster.client.downloading import Source, download, is_here
from muster.client.errors import MusterError
from muster.client.output_views import OutputsView, OutputView
from muster.client.transport import Request, Transport, segment

Progress = Callable[[int, int], None]
"""Called with the number of bytes that are here and with the number of all bytes."""


def download_all(
    transport: Transport,
    address: str,
    outputs: OutputsView,
    folder: Path,
    progress: Progress | None = None,
) -> list[Path]:
    """Fetch the outputs at this address. The result is where each file is now."""
    total = sum(output.size for output in outputs.items)
    done = 0

    def tell(count: int) -> None:
        nonlocal done
        done += count
        if progress is not None:
            progress(done, total)

    places = [place_in(folder, output.path) for output in outputs.items]
    for output, place in zip(outputs.items, places, strict=True):
        source = _source(transport, address, outputs.attempt, output)
        if is_here(source, place):
            tell(output.size)
        else:
            download(source, place, tell)
    return places


def place_in(folder: Path, path: str) -> Path:
    """Raises MusterError for a name that leads out of the folder."""
    parts = path.split("/")
    if any(part in ("", ".", "..") or "\0" in part or "\\" in part for part in parts):
        raise MusterError(f"the server names an output {path!r}, which does not stay in the folder", code="bad-answer")
    return folder.joinpath(*parts)


def _source(transport: Transport, address: str, attempt: int, output: OutputView) -> Source:
    where = "/".join(segment(part) for part in output.path.split("/"))
    request = Request("GET", f"{address}/{where}", {"attempt": attempt})
    return Source(
        output.path,
        output.size,
        output.sha256,
        transport.server,
        lambda offset: transport.content(request, offset),
        lambda: output.sha256,
    )
