"""Files that a simulation starts from: the jobs, and where wanted the nodes and the quotas of virtual clusters."""

import csv
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import IO

from muster.domain.errors import Invalid
from muster.simulation.options import NodeGroup
from muster.simulation.records import TraceJob
from muster.simulation.tables import Cells, read_table

REQUIRED = ("job_id", "submit_s", "duration_s", "gpus")
COLUMNS = ("job_id", "user", "vc", "submit_s", "duration_s", "gpus", "gpu_type", "cpus", "mem", "limit_s")
NODE_COLUMNS = ("node", "gpus", "gpu_type", "cpus", "mem_mib")
_QUOTA_COLUMN = re.compile(r"nodes(?:_of_(\d+)_gpus)?")


def read_trace(path: Path) -> list[TraceJob]:
    """Sorted by submission, then by id. Raises Invalid with every wrong row, up to a number, and OSError."""
    lines: dict[str, int] = {}

    def job_of(cells: Cells) -> TraceJob:
        job_id = cells.text("job_id")
        if not job_id:
            cells.refuse("job_id", "is empty")
        elif job_id in lines:
            cells.refuse("job_id", f"{job_id!r} is on line {lines[job_id]} already")
        lines.setdefault(job_id, cells.line)
        return _job(job_id, cells)

    jobs = read_table(path, REQUIRED, COLUMNS, job_of)
    return sorted(jobs, key=lambda job: (job.submit_s, job.job_id))


def write_trace(jobs: Iterable[TraceJob], file: IO[str]) -> None:
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(COLUMNS)
    for job in jobs:
        numbers = {
            "submit_s": job.submit_s,
            "duration_s": job.duration_s,
            "gpus": job.gpus,
            "cpus": job.cpus or None,
            "mem": job.mem_mib or None,
            "limit_s": job.limit_s,
        }
        words = {"job_id": job.job_id, "user": job.user, "vc": job.vc, "gpu_type": job.gpu_type}
        cells = words | {name: "" if value is None else _shortest(value) for name, value in numbers.items()}
        writer.writerow([cells[column] for column in COLUMNS])


def read_nodes(path: Path) -> list[NodeGroup]:
    """One node a line, with `gpus` and, where known, `gpu_type`, `cpus`, `mem_mib`. Nodes that are alike make one
    group, in the order in which their kind first appears."""
    kinds = Counter(read_table(path, ("gpus",), NODE_COLUMNS, _node))
    return [
        NodeGroup(count, kind.gpus, kind.model, kind.cluster, kind.cpus, kind.mem_mib) for kind, count in kinds.items()
    ]


def read_quota(path: Path, nodes: Sequence[NodeGroup]) -> dict[str, int]:
    """Nodes for each virtual cluster: columns `vc` and `nodes`; or `nodes_of_8_gpus`, when `nodes` are such nodes."""
    sizes: set[int] = set()

    def quota_of(cells: Cells) -> tuple[str, int]:
        column = next((name for name in cells.texts if _QUOTA_COLUMN.fullmatch(name)), "nodes")
        match = _QUOTA_COLUMN.fullmatch(column)
        if match and match[1]:
            sizes.add(int(match[1]))
        if not cells.text("vc"):
            cells.refuse("vc", "is empty")
        count = cells.number(column) if column in cells.texts else 0
        if column not in cells.texts:
            cells.refuse("", "there is neither `nodes` nor `nodes_of_8_gpus` here")
        if count != int(count):
            cells.refuse(column, f"{count:g} is not a whole number of nodes")
        return cells.text("vc"), int(count)

    rows = read_table(path, ("vc",), ("vc", "nodes"), quota_of)
    twice = [name for name, times in Counter(name for name, _ in rows).items() if times > 1]
    if twice:
        raise Invalid(f"{path} names {', '.join(twice)} more than once", hint="one line for each virtual cluster")
    for size in sizes:
        if any(group.gpus != size for group in nodes):
            raise Invalid(
                f"{path} counts nodes of {size} GPUs, but --nodes has others",
                hint="give quotas in a column `nodes`, or nodes of that size",
            )
    return dict(rows)


def _job(job_id: str, cells: Cells) -> TraceJob:
    return TraceJob(
        job_id=job_id,
        submit_s=cells.number("submit_s"),
        duration_s=cells.number("duration_s"),
        gpus=cells.number("gpus"),
        user=cells.text("user"),
        vc=cells.text("vc"),
        gpu_type=cells.text("gpu_type"),
        cpus=cells.number("cpus", default=0.0),
        mem_mib=cells.number("mem", default=0.0),
        limit_s=cells.optional("limit_s"),
    )


def _node(cells: Cells) -> NodeGroup:
    gpus = cells.number("gpus")
    if gpus != int(gpus):
        cells.refuse("gpus", f"{gpus:g} is not a whole number of GPUs")
    return NodeGroup(1, int(gpus), cells.text("gpu_type"), "", cells.optional("cpus"), cells.optional("mem_mib"))


def _shortest(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)
