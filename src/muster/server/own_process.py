"""What the process of this server uses."""

import errno
import os
import shutil
import tempfile
import threading
from dataclasses import dataclass, field
from pathlib import Path

from muster.domain.errors import Unavailable
from muster.server.loop_delay import LoopDelay

_CHECKED_BYTES = 4096


@dataclass(frozen=True, slots=True)
class OwnProcess:
    """What is known of this very server process from its start on."""

    started_at: float = 0.0
    database: str = ""
    """`sqlite` or `postgresql`."""
    database_file: Path | None = None
    """The file of an SQLite database."""
    home: Path | None = None
    installation: str = ""
    """The same for all servers on one database."""
    loop_delay: LoopDelay = field(default_factory=LoopDelay)


@dataclass(frozen=True, slots=True)
class Measured:
    """What the system says of this process. A figure that it does not give is None."""

    rss_bytes: int | None
    cpu_s: float
    threads: int
    open_files: int | None
    disk_total_bytes: int | None
    disk_free_bytes: int | None
    database_bytes: int | None


def measured(process: OwnProcess) -> Measured:
    """Blocks for a moment, because it asks file systems."""
    times = os.times()
    total, free = _disk(process.home)
    return Measured(
        _rss_bytes(),
        times.user + times.system,
        threading.active_count(),
        _open_files(),
        total,
        free,
        _size(process.database_file),
    )


def write_durably(folder: Path) -> None:
    """Writes a file, and removes it. Blocks. Raises OSError if the disk is full, and Unavailable otherwise."""
    try:
        handle, name = tempfile.mkstemp(prefix=".write-check-", dir=folder)
        try:
            os.write(handle, b"x" * _CHECKED_BYTES)
            os.fsync(handle)
        finally:
            os.close(handle)
            Path(name).unlink(missing_ok=True)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise Unavailable(f"the server cannot write to its disk: {error.strerror}") from error


def _rss_bytes() -> int | None:
    try:
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return None


def _open_files() -> int | None:
    try:
        return sum(1 for _ in Path("/proc/self/fd").iterdir())
    except OSError:
        return None


def _disk(home: Path | None) -> tuple[int | None, int | None]:
    try:
        usage = shutil.disk_usage(home) if home is not None else None
    except OSError:
        usage = None
    return (None, None) if usage is None else (usage.total, usage.free)


def _size(file: Path | None) -> int | None:
    """Return the size of a database file and its write-ahead log together."""
    if file is None:
        return None
    found = 0
    for path in (file, file.with_name(f"{file.name}-wal")):
        try:
            found += path.stat().st_size
        except OSError:
            continue
    return found
