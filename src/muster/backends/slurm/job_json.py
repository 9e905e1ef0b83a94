"""Reads jobs from `squeue --json` and `sacct --json` of Slurm 21.08 and later."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from muster.backends.slurm.exit_codes import read_json_exit
from muster.backends.slurm.job_records import JobRecord
from muster.backends.slurm.json_values import text, time_of, whole, words
from muster.backends.slurm.node_lists import expand


def read_queue_json(content: str) -> Iterator[JobRecord]:
    """Some releases print all jobs, whichever were asked for."""
    for job in _jobs(content):
        yield JobRecord(
            int(job["job_id"]),
            tuple(word.upper() for word in words(job.get("job_state"))),
            **_group(job),
            array_tasks=_array_tasks(job),
            name=text(job.get("name")),
            comment=text(job.get("comment")),
            user=text(job.get("user_name")),
            partition=text(job.get("partition")),
            reason=text(job.get("state_description")) or text(job.get("state_reason")),
            submitted_at=time_of(job.get("submit_time")),
            starts_at=time_of(job.get("start_time")),
            ended_at=time_of(job.get("end_time")),
            nodes=expand(text(job.get("nodes"))),
            exit=read_json_exit(job.get("exit_code")),
            restarts=whole(job.get("restart_cnt")) or 0,
        )


def read_past_json(content: str) -> Iterator[JobRecord]:
    """The last entry of a job counts: a job that was requeued has one for each of its runs."""
    found = {record.job_id: record for record in map(_past, _jobs(content))}
    yield from found.values()


def _past(job: Mapping[str, Any]) -> JobRecord:
    state, time, het, array = (_object(job.get(key)) for key in ("state", "time", "het", "array"))
    het_job, array_job = whole(het.get("job_id")) or None, whole(array.get("job_id")) or None
    comment = job.get("comment")
    return JobRecord(
        int(job["job_id"]),
        tuple(word.upper() for word in words(state.get("current"))),
        het_job_id=het_job,
        het_offset=whole(het.get("job_offset")) if het_job is not None else None,
        array_job_id=array_job,
        array_tasks=_task_text(array.get("task_id"), array.get("task")) if array_job is not None else "",
        name=text(job.get("name")),
        comment=text(comment.get("job")) if isinstance(comment, Mapping) else text(comment),
        user=text(job.get("user")) or text(_object(job.get("association")).get("user")),
        partition=text(job.get("partition")),
        reason=text(state.get("reason")),
        submitted_at=time_of(time.get("submission")),
        starts_at=time_of(time.get("start")),
        ended_at=time_of(time.get("end")),
        nodes=expand(text(job.get("nodes"))),
        exit=read_json_exit(job.get("exit_code")),
        restarts=whole(job.get("restart_cnt")) or 0,
    )


def _group(job: Mapping[str, Any]) -> dict[str, int | None]:
    """Slurm writes 0 for a job that is in no group."""
    het = whole(job.get("het_job_id")) or None
    return {
        "het_job_id": het,
        "het_offset": whole(job.get("het_job_offset")) if het is not None else None,
        "array_job_id": whole(job.get("array_job_id")) or None,
    }


def _array_tasks(job: Mapping[str, Any]) -> str:
    if not whole(job.get("array_job_id")):
        return ""
    return _task_text(job.get("array_task_id"), job.get("array_task_string"))


def _task_text(one: Any, many: Any) -> str:
    found = whole(one)
    return text(many) or ("" if found is None else str(found))


def _jobs(content: str) -> list[Mapping[str, Any]]:
    """Raises ValueError for what is not Slurm's JSON."""
    found = json.loads(content)
    jobs = found.get("jobs") if isinstance(found, Mapping) else None
    if not isinstance(jobs, list):
        raise ValueError("there are no jobs in this JSON")
    return [job for job in jobs if isinstance(job, Mapping) and "job_id" in job]


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
