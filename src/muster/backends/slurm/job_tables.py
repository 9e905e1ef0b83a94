"""Asks for jobs by text tables, which every Slurm since 20.11 prints, and reads them.

One query has the answer for all jobs. Fields end with a control character that no sane name contains, because names and
comments may contain everything else, even line breaks.
"""

import itertools
import re
from collections.abc import Iterator, Sequence
from datetime import tzinfo

from muster.backends.slurm.exit_codes import read_exit, read_status
from muster.backends.slurm.job_records import JobRecord
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
    "exit_code",
    "RestartCnt",
    "Name",
    "Comment",
)
_PAST = ("JobIDRaw", "JobID", "User", "Partition", "State", "Reason", "Submit", "Start", "End", "NodeList", "ExitCode")
_PAST_TEXTS = ("Comment", "JobName")
_NOTHING = frozenset(("", "(null)", "N/A", "None assigned"))
_SHOWN = re.compile(r"(?:^|\s)([A-Za-z][\w/:]*)=(\S*)")


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


def shown_command(job: int | str) -> list[str]:
    """The scontrol command for one job, which says the most about it without accounting."""
    return ["scontrol", "show", "job", str(job)]


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


def read_shown(text: str, zone: tzinfo | None = None) -> Iterator[JobRecord]:
    """What `scontrol show job` prints: blocks of lines with several `Key=value` each."""
    for block in re.split(r"\n\s*\n(?=JobId=)|\A\s*(?=JobId=)", text):
        if block and block.startswith("JobId="):
            yield _shown(block, zone)


def _queued(cells: dict[str, str], zone: tzinfo | None) -> JobRecord:
    het_job = _number(cells["HetJobID"])
    array, tasks = _number(cells["ArrayJobID"]), cells["ArrayTaskID"]
    status = _number(cells["exit_code"])
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
        nodes=expand(cells["NodeList"]),
        exit=None if status is None else read_status(status),
        restarts=_number(cells["RestartCnt"]) or 0,
    )


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


def _shown(block: str, zone: tzinfo | None) -> JobRecord:
    # A name and a comment go on to the next line that begins with a key of Slurm's own.
    name = re.search(r"JobName=(.*?)\n   (?:HetJobIdSet|UserId)=", block, re.DOTALL)
    comment = re.search(r"\n   Comment=(.*?) ?(?=\n   (?:StdErr|StdIn|Power|MailUser|Switches)=|\Z)", block, re.DOTALL)
    body = block[name.end(1) :] if name else block
    first = dict(_SHOWN.findall(block[: name.start()] if name else ""))
    facts = {key: _cell(value) for key, value in {**dict(reversed(_SHOWN.findall(body))), **first}.items()}
    return JobRecord(
        int(facts["JobId"]),
        (facts.get("JobState", ""),),
        het_job_id=_number(facts.get("HetJobId", "")),
        het_offset=_number(facts.get("HetJobOffset", "")),
        array_job_id=_number(facts.get("ArrayJobId", "")),
        array_tasks=facts.get("ArrayTaskId", ""),
        name=_cell(name[1]) if name else "",
        comment=_cell(comment[1]) if comment else "",
        user=facts.get("UserId", "").partition("(")[0],
        partition=facts.get("Partition", ""),
        reason=facts.get("Reason", "").replace("_", " "),  # scontrol writes its sentences without spaces
        submitted_at=read_time(facts.get("SubmitTime", ""), zone),
        starts_at=read_time(facts.get("StartTime", ""), zone),
        ended_at=read_time(facts.get("EndTime", ""), zone),
        nodes=expand(facts.get("NodeList", "")),
        exit=read_exit(facts.get("ExitCode", "")),
        restarts=_number(facts.get("Restarts", "")) or 0,
    )


def _cell(text: str) -> str:
    text = text.strip()
    return "" if text in _NOTHING else text


def _number(text: str) -> int | None:
    return int(text) if text.isdigit() else None
