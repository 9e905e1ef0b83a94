"""Asks for jobs by text tables, which every Slurm since 20.11 prints, and reads them.

One query has the answer for all jobs. Fields end with a control character that no sane name contains, because names and
comments may contain everything else, even line breaks.
"""

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import tzinfo

from muster.backends.slurm.answers.exit_codes import JobExit, read_exit, read_status
from muster.backends.slurm.answers.gres import tracked_amounts
from muster.backends.slurm.answers.job_records import Held, JobRecord
from muster.backends.slurm.answers.node_lists import expand
from muster.backends.slurm.answers.times import read_time

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
_PAST = {
    "JobIDRaw": "JobID",
    "JobID": "ShownID",
    "User": "UserName",
    "Partition": "Partition",
    "State": "State",
    "Reason": "Reason",
    "Submit": "SubmitTime",
    "Start": "StartTime",
    "End": "EndTime",
    "NodeList": "NodeList",
    "ExitCode": "exit_code",
    "Comment": "Comment",
    "JobName": "Name",
}
"""The fields of sacct, and what squeue calls them. The last two may contain line breaks."""
_NOTHING = frozenset(("", "(null)", "N/A", "None assigned"))


def queue_command(jobs: Sequence[int | str] = ()) -> list[str]:
    """The squeue command for these jobs, in all states that the controller still knows. None named: for all jobs."""
    fields = [f"{field}:{_FIELD}" for field in _QUEUE[:-1]] + [f"{_QUEUE[-1]}:{_ROW}"]
    command = ["squeue", "--noheader", "--all", "--states=all", f"--Format={','.join(fields)}"]
    if jobs:
        command.append(f"--jobs={','.join(map(str, jobs))}")
    return command


def past_command(jobs: Sequence[int | str]) -> list[str]:
    """The sacct command for jobs that the controller has forgotten. It fails on a cluster without accounting."""
    words = ["sacct", "--noheader", "--allocations", "--parsable2", f"--delimiter={_FIELD}"]
    return [*words, f"--format={','.join(_PAST)}", f"--jobs={','.join(map(str, jobs))}"]


def read_queue(text: str, zone: tzinfo | None = None) -> Iterator[JobRecord]:
    for row in text.split(f"{_ROW}\n"):
        cells = row.split(_FIELD)
        if len(cells) == len(_QUEUE) and cells[0].strip().isdigit():
            yield _queued(dict(zip(_QUEUE, map(_cell, cells), strict=True)), zone)


def read_past(text: str, zone: tzinfo | None = None) -> Iterator[JobRecord]:
    """The last row of a job counts: a job that was requeued has one for each of its runs."""
    rows: dict[int, JobRecord] = {}
    for cells in _past_rows(text):
        record = _past(dict(zip(_PAST.values(), map(_cell, cells), strict=True)), zone)
        if record is not None:
            rows[record.job_id] = record
    yield from rows.values()


def _queued(cells: Mapping[str, str], zone: tzinfo | None) -> JobRecord:
    het_job = _number(cells["HetJobID"])
    array, tasks = _number(cells["ArrayJobID"]), cells["ArrayTaskID"]
    return replace(
        _record(cells, zone),
        het_job_id=het_job,
        het_offset=_number(cells["HetJobOffset"]) if het_job is not None else None,
        array_job_id=array if tasks else None,
        array_tasks=tasks if array is not None else "",
        restarts=_number(cells["RestartCnt"]) or 0,
        held=(Held(expand(cells["NodeList"]), tracked_amounts(cells["tres-alloc"])),),
    )


def _past_rows(text: str) -> Iterator[list[str]]:
    """The last two columns may contain line breaks, so that a row ends where the next one begins."""
    begin = re.compile(rf"^\d+{_FIELD}", re.MULTILINE)
    starts = [found.start() for found in begin.finditer(text)]
    for start, end in itertools.pairwise([*starts, len(text)]):
        cells = text[start:end].removesuffix("\n").split(_FIELD)
        if len(cells) == len(_PAST):
            yield cells


def _past(cells: Mapping[str, str], zone: tzinfo | None) -> JobRecord | None:
    if not cells["JobID"].isdigit():
        return None
    het, array = re.fullmatch(r"(\d+)\+(\d+)", cells["ShownID"]), re.fullmatch(r"(\d+)_(\S+)", cells["ShownID"])
    return replace(
        _record(cells, zone),
        het_job_id=int(het[1]) if het else None,
        het_offset=int(het[2]) if het else None,
        array_job_id=int(array[1]) if array else None,
        array_tasks=array[2].strip("[]") if array else "",
    )


def _record(cells: Mapping[str, str], zone: tzinfo | None) -> JobRecord:
    return JobRecord(
        int(cells["JobID"]),
        (cells["State"],),
        name=cells["Name"],
        comment=cells["Comment"],
        user=cells["UserName"],
        partition=cells["Partition"],
        reason=cells["Reason"],
        submitted_at=read_time(cells["SubmitTime"], zone),
        starts_at=read_time(cells["StartTime"], zone),
        ended_at=read_time(cells["EndTime"], zone),
        nodes=expand(cells["NodeList"]),
        exit=_exit(cells["exit_code"]),
    )


def _exit(text: str) -> JobExit | None:
    """`CODE:SIGNAL`; squeue before 23.02 writes a status of wait(2)."""
    return read_status(int(text)) if text.isdigit() else read_exit(text)


def _cell(text: str) -> str:
    text = text.strip()
    return "" if text in _NOTHING else text


def _number(text: str) -> int | None:
    return int(text) if text.isdigit() else None
