"""Asks for jobs by `squeue --json`, and reads it as Slurm 21.08 and later print it."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from muster.backends.slurm.answers.exit_codes import read_json_exit
from muster.backends.slurm.answers.gres import tracked_amounts
from muster.backends.slurm.answers.job_records import Held, JobRecord
from muster.backends.slurm.answers.json_values import text, time_of, whole, words
from muster.backends.slurm.answers.node_lists import expand


def queue_json_command(jobs: Sequence[int | str]) -> list[str]:
    """The squeue command for these jobs, in all states that the controller still knows."""
    return ["squeue", "--json", "--all", "--states=all", f"--jobs={','.join(map(str, jobs))}"]


def read_queue_json(content: str) -> Iterator[JobRecord]:
    """Some releases print all jobs, whichever were asked for, and write 0 for a job that is in no group. Raises
    ValueError for what is not Slurm's JSON."""
    for job in _jobs(content):
        yield JobRecord(
            whole(job["job_id"]) or 0,
            tuple(word.upper() for word in words(job.get("job_state"))),
            het_job_id=(het := whole(job.get("het_job_id")) or None),
            het_offset=whole(job.get("het_job_offset")) if het is not None else None,
            array_job_id=whole(job.get("array_job_id")) or None,
            array_tasks=_array_tasks(job),
            name=text(job.get("name")),
            comment=text(job.get("comment")),
            user=text(job.get("user_name")),
            partition=text(job.get("partition")),
            reason=text(job.get("state_description")) or text(job.get("state_reason")),
            submitted_at=time_of(job.get("submit_time")),
            starts_at=time_of(job.get("start_time")),
            ended_at=time_of(job.get("end_time")),
            nodes=(nodes := expand(text(job.get("nodes")))),
            exit=read_json_exit(job.get("exit_code")),
            restarts=whole(job.get("restart_cnt")) or 0,
            held=(Held(nodes, tracked_amounts(text(job.get("tres_alloc_str")))),),
        )


def _array_tasks(job: Mapping[str, Any]) -> str:
    if not whole(job.get("array_job_id")):
        return ""
    one = whole(job.get("array_task_id"))
    return text(job.get("array_task_string")) or ("" if one is None else str(one))


def _jobs(content: str) -> list[Mapping[str, Any]]:
    found = json.loads(content)
    jobs = found.get("jobs") if isinstance(found, Mapping) else None
    if not isinstance(jobs, list):
        raise ValueError("there are no jobs in this JSON")
    return [job for job in jobs if isinstance(job, Mapping) and "job_id" in job]
