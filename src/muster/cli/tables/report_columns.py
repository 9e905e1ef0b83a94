"""The columns of `muster report`, as a table and as CSV."""

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any

from muster.cli.tables.job_usage import percent, seconds
from muster.cli.tables.text_tables import Column, render
from muster.lib.quantities import about_number

Raw = Mapping[str, Any]
FAULT_KINDS = ("user", "platform", "capacity", "configuration", "limit")
_ACTIVE = ("=", "+", "-", "@")
"""A cell that begins so is a formula for spreadsheets."""
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
    text = io.StringIO()
    write = csv.writer(text, lineterminator="\n").writerow
    write(["since", "until", report["by"], *(name for name, _ in _CSV), *(f"failed_{kind}" for kind in FAULT_KINDS)])
    for line in report["items"]:
        figures = ["" if line[key] is None else line[key] for _, key in _CSV]
        failures = [line["failures"].get(kind, 0) for kind in FAULT_KINDS]
        write([report["since"], report["until"], harmless(line["group"]), *figures, *failures])
    return text.getvalue()


def harmless(text: str) -> str:
    """The text on one line, with an apostrophe in front if a spreadsheet would take it for a formula."""
    line = "".join(letter if letter.isprintable() else " " for letter in text)
    return f"'{line}" if line.lstrip().startswith(_ACTIVE) else line


def failures_text(failures: Mapping[str, int]) -> str | None:
    return " ".join(f"{kind}={count}" for kind, count in failures.items()) or None


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
