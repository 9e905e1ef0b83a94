"""Traces of others, which are not in the repository: read from `$MUSTER_TRACES`, else from `shared/traces` beside the
checkout."""

import os
from pathlib import Path

from bench.peers.venvs import ROOT
from muster.simulation.records import TraceJob
from muster.simulation.traces import read_trace


class TracesAbsent(RuntimeError):
    """There is nothing to replay; the table says where it was looked for."""


def trace_file(name: str) -> Path:
    folder = Path(os.environ.get("MUSTER_TRACES") or ROOT.parent / "shared/traces")
    path = folder / name
    if not path.is_file():
        raise TracesAbsent(f"no {name} in {folder}; MUSTER_TRACES names another folder")
    return path


def jobs_of(name: str, first: int | None = None) -> list[TraceJob]:
    """All jobs of a trace, or the first so many."""
    return read_trace(trace_file(f"{name}.csv.gz"))[:first]
