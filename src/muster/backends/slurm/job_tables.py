"""Asks for jobs by text tables, which every Slurm since 20.11 prints, and reads them.

One query has the answer for all jobs. Fields end with a control character that no sane name contains, because names and
comments may contain everything else, even line breaks.
"""

import itertools
import re
from collections.abc import Iterator, Sequence
from datetime import tzinfo

from muster.backends.slurm.exit_codes import JobExit, read_exit, read_status
from muster.backends.slurm.gres import tracked_amounts
from muster.backends.slurm.job_records import Held, JobRecord
from muster.backends.slurm.node_lists import expand
from muster.backends.slurm.times import read_time

_FIELD, _ROW = "\x1f", "\x1e"
_QUEUE = (
    "JobID",
    "HetJobID",
    "HetJobOffset",
    "ArrayJobID",
    "ArrayTaskID",
    "UserName",
    "Partition",
    "State",
    "Reason",
    "SubmitTime",
    "StartTime",
    "EndTime",
    "NodeList",
    "tres-alloc",
    "exit_code",
    "RestartCnt",
    "Name",
    "Comment",
)
_PAST = ("JobIDRaw", "JobID", "User", "Partition", "State", "Reason", "Submit", "Start", "End", "NodeList", "ExitCode")
_PAST_TEXTS = ("Comment", "JobName")
_NOTHING = frozenset(("", "(null)", "N/A", "None assigned"))


def queue_command(jobs: Sequence[int | str] = (), *, user: str | None = None, name: str | None = None) -> list[str]:
    """The squeue command for these jobs, in all states that the controller still knows. None named: for all jobs."""
    fields = [f"{field}:{_FIELD}" for field in _QUEUE[:-1]] + [f"{_QUEUE[-1]}:{_ROW}"]
    command = ["squeue", "--noheader", "--all", "--states=all", f"--Format={','.join(fields)}"]
    if jobs:
        command.append(f"--jobs={','.join(map(str, jobs))}")
    if user is not None:
        command.append(f"--user={user}")
    if name is not None:
        command.append(f"--name={name}")
    return command


def past_command(jobs: Sequence[int | str]) -> list[str]:
    """The sacct command for jobs that the controller has forgotten. It fails on a cluster without accounting."""
    fields = ",".join((*_PAST, *_PAST_TEXTS))
    words = ["sacct", "--noheader", "--allocations", "--parsable2", f"--delimiter={_FIELD}"]
    return [*words, f"--format={fields}", f"--jobs={','.join(map(str, jobs))}"]


def read_queue(text: str, zone: tzinfo | None = None) -> Iterator[JobRecord]:
    for row in text.split(f"{_ROW}\n"):
        cells = row.split(_FIELD)
        if len(cells) == len(_QUEUE) and cells[0].strip().isdigit():
            yield _queued(dict(zip(_QUEUE, map(_cell, cells), strict=True)), zone)


def read_past(text: str, zone: tzinfo | None = None) -> Iterator[JobRecord]:
    """The last row of a job counts: a job that was requeued has one for each of its runs."""
    rows: dict[int, JobRecord] = {}
    for cells in _past_rows(text):
        record = _past(dict(zip((*_PAST, *_PAST_TEXTS), map(_cell, cells), strict=True)), zone)
        if record is not None:
            rows[record.job_id] = record
    yield from rows.values()


def _queued(cells: dict[str, str], zone: tzinfo | None) -> JobRecord:
    het_job = _number(cells["HetJobID"])
    array, tasks = _number(cells["ArrayJobID"]), cells["ArrayTaskID"]
    nodes = expand(cells["NodeList"])
    return JobRecord(
        int(cells["JobID"]),
        (cells["State"],),
        het_job_id=het_job,
        het_offset=_number(cells["HetJobOffset"]) if het_job is not None else None,
        array_job_id=array if tasks else None,
        array_tasks=tasks if array is not None else "",
        name=cells["Name"],
        comment=cells["Comment"],
        user=cells["UserName"],
        partition=cells["Partition"],
        reason=cells["Reason"],
        submitted_at=read_time(cells["SubmitTime"], zone),
        starts_at=read_time(cells["StartTime"], zone),
        ended_at=read_time(cells["EndTime"], zone),
        nodes=nodes,
        exit=_queued_exit(cells["exit_code"]),
        restarts=_number(cells["RestartCnt"]) or 0,
        held=(Held(nodes, tracked_amounts(cells["tres-alloc"])),),
    )


def _queued_exit(text: str) -> JobExit | None:
    """squeue writes a status of wait(2), and since 23.02 `CODE:SIGNAL`."""
    return read_status(int(text)) if text.isdigit() else read_exit(text)


def _past_rows(text: str) -> Iterator[list[str]]:
    """The last two columns may contain line breaks, so that a row ends where the next one begins."""
    begin = re.compile(rf"^\d+{_FIELD}", re.MULTILINE)
    starts = [found.start() for found in begin.finditer(text)]
    for start, end in itertools.pairwise([*starts, len(text)]):
        cells = text[start:end].removesuffix("\n").split(_FIELD)
        if len(cells) == len(_PAST) + len(_PAST_TEXTS):
            yield cells


def _past(cells: dict[str, str], zone: tzinfo | None) -> JobRecord | None:
    het, array = re.fullmatch(r"(\d+)\+(\d+)", cells["JobID"]), re.fullmatch(r"(\d+)_(\S+)", cells["JobID"])
    if not cells["JobIDRaw"].isdigit():
        return None
    return JobRecord(
        int(cells["JobIDRaw"]),
        (cells["State"],),
        het_job_id=int(het[1]) if het else None,
        het_offset=int(het[2]) if het else None,
        array_job_id=int(array[1]) if array else None,
        array_tasks=array[2].strip("[]") if array else "",
        name=cells["JobName"],
        comment=cells["Comment"],
        user=cells["User"],
        partition=cells["Partition"],
        reason=cells["Reason"],
        submitted_at=read_time(cells["Submit"], zone),
        starts_at=read_time(cells["Start"], zone),
        ended_at=read_time(cells["End"], zone),
        nodes=expand(cells["NodeList"]),
        exit=read_exit(cells["ExitCode"]),
    )


def _cell(text: str) -> str:
    text = text.strip()
    return "" if text in _NOTHING else text


def _number(text: str) -> int | None:
    return int(text) if text.isdigit() else None
