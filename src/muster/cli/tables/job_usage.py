"""The tables of `muster usage`: what tasks asked for and used, and the sums of attempts and of the job."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from muster.cli.tables.text_tables import Column, render
from muster.lib.quantities import about_bytes, about_duration, about_number, about_percent

Raw = Mapping[str, Any]


def usage_lines(usage: Raw) -> list[str]:
    attempts = usage.get("attempts") or []
    rows: list[Raw] = []
    for attempt in attempts:
        rows += [{**task, "attempt": attempt["attempt"]} for task in attempt["tasks"]]
        if len(attempts) > 1 or len(attempt["tasks"]) > 1:
            rows.append({**attempt, "name": f"attempt {attempt['attempt']}", "asked": _sum_asked(attempt["tasks"])})
    if len(attempts) > 1:
        rows.append({**usage, "name": "all attempts", "asked": None})
    lines = render(usage_columns(rows), rows) if rows else ["no task has started"]
    return [*lines, "", summary(usage), *_advice(usage)]


def usage_columns(rows: Sequence[Raw]) -> list[Column[Raw]]:
    """GPUs have columns only if a row has some."""
    has_gpus = any((row.get("asked") or {}).get("gpus") or row.get("gpus") for row in rows)
    columns: list[Column[Raw]] = [
        Column("WORKER", lambda row: row["name"]),
        Column("STATE", lambda row: row.get("state") if "tasks" not in row and "attempts" not in row else None),
        Column("RUN", lambda row: about_duration(row["runS"]), right=True),
        Column("CPU TIME", lambda row: seconds(_used(row, "cpuS")), right=True),
        Column("CORES", lambda row: _of(number(_used(row, "meanCores")), _asked(row, "cores", about_number))),
        Column("PEAK", lambda row: number(_used(row, "peakCores")), right=True),
        Column("MEMORY", lambda row: _of(size(_used(row, "peakMemoryBytes")), _asked(row, "memoryBytes", _size))),
    ]
    if has_gpus:
        columns += [
            Column("GPUS", lambda row: _asked(row, "gpus", about_number), right=True),
            Column("GPU", lambda row: percent(_used(row, "gpuPercent")), right=True),
            Column("GPU PEAK", lambda row: percent(_used(row, "peakGpuPercent")), right=True),
            Column("GPU MEMORY", lambda row: size(_used(row, "peakGpuMemoryBytes")), right=True),
            Column("ENERGY", lambda row: energy(_used(row, "energyJ")), right=True),
        ]
    return columns


def attempt_lines(usage: Raw) -> list[str]:
    """A line for each attempt."""
    columns: list[Column[Raw]] = [
        Column("ATTEMPT", lambda row: row["attempt"], right=True),
        Column("WAIT", lambda row: seconds(row["waitS"]), right=True),
        Column("RUN", lambda row: seconds(row["runS"]), right=True),
        Column("CPU TIME", lambda row: seconds(_used(row, "cpuS")), right=True),
        Column("MEMORY", lambda row: size(_used(row, "peakMemoryBytes")), right=True),
        Column("GPU", lambda row: percent(_used(row, "gpuPercent")), right=True),
        Column("ENDED", lambda row: _states(row["tasks"])),
    ]
    return render(columns, usage["attempts"])


def _states(tasks: Sequence[Raw]) -> str:
    """How its workers ended: `2 Succeeded, 1 Failed`."""
    counts = Counter(str(task["state"]) for task in tasks)
    return ", ".join(f"{count} {state}" for state, count in counts.items())


def summary(usage: Raw) -> str:
    """One line about the whole job."""
    used = usage.get("used") or {}
    parts = [f"waited {about_duration(usage['waitS'])}", f"ran {about_duration(usage['runS'])}"]
    if used.get("cpuS") is not None:
        parts.append(f"{about_duration(used['cpuS'])} of CPU")
    if used.get("peakMemoryBytes") is not None:
        parts.append(f"{about_bytes(used['peakMemoryBytes'])} of memory at most")
    if usage.get("gpuHours"):
        parts.append(f"{about_number(usage['gpuHours'])} GPU hours")
    if used.get("gpuPercent") is not None:
        parts.append(f"GPUs at {about_percent(used['gpuPercent'])}")
    if used.get("energyJ") is not None:
        parts.append(f"{energy(used['energyJ'])} of energy")
    note = " (from samples)" if used.get("sampled") else ""
    text = ", ".join(parts)
    return f"{text[0].upper()}{text[1:]}{note}."


def energy(joules: float | None) -> str | None:
    if joules is None:
        return None
    if joules < 3600:
        return f"{joules:.0f} J"
    return f"{joules / 3.6e6:.2f} kWh" if joules >= 3.6e5 else f"{joules / 3600:.0f} Wh"


def percent(value: float | None) -> str | None:
    return None if value is None else about_percent(value)


def size(value: int | None) -> str | None:
    return None if value is None else about_bytes(value)


def number(value: float | None) -> str | None:
    return None if value is None else about_number(value)


def seconds(value: float | None) -> str | None:
    return None if value is None else about_duration(value)


def _advice(usage: Raw) -> list[str]:
    return [str(usage["advice"])] if usage.get("advice") else []


def _size(value: float) -> str:
    return about_bytes(value).replace(".0 ", " ")


def _used(row: Raw, name: str) -> Any:
    return (row.get("used") or {}).get(name)


def _asked(row: Raw, name: str, write: Any) -> str | None:
    value = (row.get("asked") or {}).get(name)
    return write(value) if value else None


def _of(used: str | None, asked: str | None) -> str | None:
    if used is None and asked is None:
        return None
    return f"{used or '-'} of {asked}" if asked else used


def _sum_asked(tasks: Sequence[Raw]) -> Raw:
    return {
        "cores": sum(task["asked"]["cores"] for task in tasks),
        "gpus": sum(task["asked"]["gpus"] for task in tasks),
    }
