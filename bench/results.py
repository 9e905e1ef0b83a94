"""Keeps each run's figures as JSON under bench/results, beside what the machine was."""

import json
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.peers.figures import PeerFigures
from bench.scale import Scale
from bench.table import Row, Sheet

FOLDER = Path(__file__).parent / "results"


def write_results(scale: Scale, figures: Mapping[str, PeerFigures], parts: Sequence[Row | Sheet]) -> Path:
    FOLDER.mkdir(exist_ok=True)
    now = datetime.now(UTC)
    path = FOLDER / f"{now:%Y%m%dT%H%M%SZ}.json"
    content = {
        "at": now.isoformat(),
        "machine": {
            "cpus": os.cpu_count(),
            "system": platform.platform(),
            "python": platform.python_version(),
            "load": os.getloadavg(),
        },
        "scale": asdict(scale),
        "peers": {name: asdict(peer) for name, peer in figures.items()},
        "rows": [_row(part) for part in parts if isinstance(part, Row)],
        "sheets": {part.title: [list(line) for line in part.lines] for part in parts if isinstance(part, Sheet)},
    }
    path.write_text(json.dumps(content, indent=2) + "\n")
    return path


def _row(row: Row) -> dict[str, Any]:
    return {
        "what": row.what,
        "unit": row.unit.value,
        "muster": row.muster,
        "peer": row.peer,
        "theirs": row.theirs,
        "ratio": row.ratio,
        "verdict": row.verdict,
        "note": row.note,
    }
