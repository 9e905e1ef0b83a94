"""Seconds from a clone to the first finished job, by `make demo`. Chosen by --with-demo: it installs everything."""

import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from bench.muster.case import Case, Figures
from bench.peers.venvs import ROOT
from bench.scale import Scale
from bench.table import Row, Unit

DEADLINE_S = 900
BAR = Row("clone to the end of `make demo`", Unit.SECONDS)


def run(scale: Scale, figures: Figures) -> Sequence[Row]:
    with tempfile.TemporaryDirectory(prefix="muster-bench-") as folder:
        clone = Path(folder) / "muster"
        began = time.monotonic()
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
        done = subprocess.run(
            ["make", "demo"], cwd=clone, capture_output=True, text=True, timeout=DEADLINE_S, check=False
        )
        seconds = time.monotonic() - began
    if done.returncode != 0:
        raise RuntimeError(f"make demo ended with {done.returncode}: {(done.stderr or done.stdout).strip()[-300:]}")
    return [Row(BAR.what, BAR.unit, seconds, note="its downloads included")]


CASE = Case("demo", "a fresh clone to the end of `make demo`", run, lambda figures: [BAR])
