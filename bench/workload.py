"""The two jobs every system is given, and how their own files prove what happened.

Both are two-line sh scripts. One writes its clock to a file of its own: the moment it really started, whatever
the system says. The other does nothing but leave one mark, so that a job that never ran, or ran twice, is seen.
"""

import time
from dataclasses import dataclass
from pathlib import Path

STAMP_SCRIPT = '#!/bin/sh\ndate +%s.%N > "$1"\n'
MARK_SCRIPT = '#!/bin/sh\necho x >> "$1"\n'
MARK_BYTES = 2
LOOK_S = 0.001
LOOK_AT_MARKS_S = 0.005
REST_S = 1.1


@dataclass(frozen=True)
class Workload:
    """Scripts and output files in one folder of their own."""

    folder: Path

    @classmethod
    def create(cls, folder: Path) -> "Workload":
        folder.mkdir(parents=True, exist_ok=True)
        workload = cls(folder)
        for path, text in ((workload.stamp_script, STAMP_SCRIPT), (workload.mark_script, MARK_SCRIPT)):
            path.write_text(text)
            path.chmod(0o755)
        return workload

    @property
    def stamp_script(self) -> Path:
        return self.folder / "stamp.sh"

    @property
    def mark_script(self) -> Path:
        return self.folder / "mark.sh"

    def stamp_file(self, index: int) -> Path:
        return self.folder / f"stamp-{index}"

    def marks_file(self, name: str) -> Path:
        return self.folder / f"marks-{name}"


def wait_for_stamp(path: Path, deadline_s: float = 60) -> float:
    """The clock the job wrote, as soon as its line is whole."""
    give_up = time.monotonic() + deadline_s
    while time.monotonic() < give_up:
        text = path.read_text() if path.exists() else ""
        if text.endswith("\n"):
            return float(text)
        time.sleep(LOOK_S)
    raise TimeoutError(f"no job wrote {path} within {deadline_s:.0f} s")


def rest(previous_start: float) -> None:
    """Sleep until REST_S after the previous job's clock.

    HyperQueue's client looks for ended jobs once a second; a system that could be asked again at once, with warm
    caches, would be flattered beside it.
    """
    time.sleep(max(0.0, previous_start + REST_S - time.time()))


def count_marks(path: Path) -> int:
    return path.stat().st_size // MARK_BYTES if path.exists() else 0


def wait_for_marks(path: Path, expected: int, deadline_s: float = 600) -> float:
    """The monotonic clock when the last mark was there.

    The end is read from the jobs themselves: several clients only look once a second, and that is not the
    system's own speed.
    """
    give_up = time.monotonic() + deadline_s
    while time.monotonic() < give_up:
        if count_marks(path) >= expected:
            return time.monotonic()
        time.sleep(LOOK_AT_MARKS_S)
    raise TimeoutError(f"{count_marks(path)} of {expected} jobs had run after {deadline_s:.0f} s")


def check_marks(path: Path, expected: int) -> None:
    """Raise unless exactly the expected number of jobs ran."""
    found = count_marks(path)
    if found != expected:
        raise RuntimeError(f"{expected} jobs were submitted but {found} left a mark")
