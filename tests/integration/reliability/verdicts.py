"""What must be true after any crash: asked through the API, and looked up in the files that the tasks wrote."""

from collections import Counter
from pathlib import Path
from typing import Any

from tests.parts.leftovers import wait_until_all_is_free, wait_until_nothing_runs
from tests.parts.server import MusterServer

from .small_jobs import everything_at_once, lines_by_task
from .stubborn_client import StubbornClient

FINAL_EVENTS = {"job.succeeded", "job.failed", "job.cancelled"}


def all_of(server: MusterServer, path: str) -> list[Any]:
    """Every page."""
    items: list[Any] = []
    cursor: str | None = ""
    glue = "&" if "?" in path else "?"
    name = "after" if "/events" in path else "cursor"
    while cursor is not None:
        status, page = server.call("GET", f"{path}{glue}limit=1000" + (f"&{name}={cursor}" if cursor else ""))
        assert status == 200, page
        items += page["items"]
        cursor = page["nextCursor"]
    return items


def check_what_became_of_all(server: MusterServer, client: StubbornClient, count: int, records: Path) -> None:
    """So many jobs were accepted, once each; all ended well, and no task ran twice."""
    client.join()
    ids = {job["id"] for job in client.jobs.values()}
    assert len(ids) == count
    for job in ids:
        server.wait(job, 120)
    check_every_job_ended_once(server, ids)
    extra = check_no_task_ran_twice(server, ids, records)
    print(f"{client.refused} submissions were sent again, {extra} attempts were made again")


def check_every_job_ended_once(server: MusterServer, ids: set[str]) -> None:
    jobs = all_of(server, "/api/v1/jobs")
    assert {job["id"] for job in jobs} == ids, "a job was lost or stored twice"
    wrong = [(job["name"], job["state"], job["reason"]) for job in jobs if job["state"] != "Succeeded"]
    assert not wrong, wrong
    ends = Counter(e["jobId"] for e in all_of(server, "/api/v1/events?kind=job.") if e["kind"] in FINAL_EVENTS)
    assert set(ends) == ids
    twice = {job: count for job, count in ends.items() if count != 1}
    assert not twice, f"jobs with several ends: {twice}"


def check_no_task_ran_twice(server: MusterServer, ids: set[str], records: Path) -> int:
    """Answers how many attempts there were beyond the first."""
    ran = lines_by_task(records)
    twice = {task: count for task, count in ran.items() if count != 1}
    assert not twice, f"tasks that ran more than once in one attempt: {twice}"
    extra = 0
    for job in ids:
        tasks = server.call("GET", f"/api/v1/jobs/{job}/tasks?attempt=all")[1]["items"]
        not_run = [task["id"] for task in tasks if task["state"] == "Succeeded" and not ran[task["id"]]]
        assert not not_run, f"said to have succeeded, but never ran: {not_run}"
        extra += max(task["attempt"] for task in tasks) - 1
    return extra


def check_nothing_is_leaked(server: MusterServer, records: Path) -> None:
    wait_until_nothing_runs(server.home)
    wait_until_all_is_free(server)
    job = server.submit(everything_at_once(records))
    assert server.wait(job["id"])["state"] == "Succeeded"
