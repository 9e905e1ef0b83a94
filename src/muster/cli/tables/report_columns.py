"""The columns of `muster report`, as a table and as CSV."""

from collections.abc import Mapping, Sequence
from typing import Any

from muster.cli.tables.csv_texts import csv_text
from muster.cli.tables.job_usage import percent, seconds
from muster.cli.tables.text_tables import Column, render
from muster.lib.quantities import about_number
from muster.pictures.report_picture import FAULT_KINDS, failures_text

Raw = Mapping[str, Any]
_CSV = (
    ("jobs", "jobs"),
    ("gpu_hours", "gpuHours"),
    ("idle_gpu_hours", "idleGpuHours"),
    ("unmeasured_gpu_hours", "unmeasuredGpuHours"),
    ("gpu_percent", "gpuPercent"),
    ("cpu_hours", "cpuHours"),
    ("used_cpu_hours", "usedCpuHours"),
    ("median_wait_s", "medianWaitS"),
    ("p95_wait_s", "p95WaitS"),
)


def report_lines(report: Raw) -> list[str]:
    rows = [*report["items"], {**report["total"], "group": "total"}]
    return render(_columns(str(report["by"]).upper()), rows)


def report_csv(report: Raw) -> str:
    """One line for each group, without the total, in plain numbers. Hours and seconds are in the names."""
    titles = ["since", "until", report["by"], *(name for name, _ in _CSV), *(f"failed_{kind}" for kind in FAULT_KINDS)]
    lines = []
    for line in report["items"]:
        failures = [line["failures"].get(kind, 0) for kind in FAULT_KINDS]
        figures = [line[key] for _, key in _CSV]
        lines.append([report["since"], report["until"], _one_line(line["group"]), *figures, *failures])
    return csv_text(titles, lines)


def _one_line(text: str) -> str:
    return "".join(letter if letter.isprintable() else " " for letter in text)


def _columns(title: str) -> Sequence[Column[Raw]]:
    return [
        Column(title, lambda line: line["group"]),
        Column("JOBS", lambda line: line["jobs"], right=True),
        Column("GPU HOURS", lambda line: about_number(line["gpuHours"]), right=True),
        Column("GPU", lambda line: percent(line["gpuPercent"]), right=True),
        Column("IDLE", lambda line: about_number(line["idleGpuHours"]), right=True),
        Column("CPU HOURS", lambda line: about_number(line["cpuHours"]), right=True),
        Column("WAIT", lambda line: seconds(line["medianWaitS"]), right=True),
        Column("WAIT P95", lambda line: seconds(line["p95WaitS"]), right=True),
        Column("FAILED", lambda line: failures_text(line["failures"])),
    ]
