"""The running task that somebody means, for what can be done in a running task only."""

from muster.domain.errors import Conflict
from muster.domain.jobs import Job
from muster.domain.tasks import Task, TaskRunning
from muster.engine.context import Context
from muster.engine.data.following import check_workers


def running_task(context: Context, job: Job, worker: str | None, what: str) -> tuple[Task, int]:
    """The task of this name, the first one if none is named, and how many tasks the job has now. A bare number means
    one of the workers, or of the only role. `what` is a sentence that says what needs a running task. Raises Conflict
    if it does not run."""
    if worker is not None and worker.isdecimal():
        worker = f"{job.spec.roles[0].name if len(job.spec.roles) == 1 else 'worker'}-{int(worker)}"
    if worker is not None:
        check_workers(job, (worker,))
    entry = context.open_jobs.get(job.id)
    if entry is None:
        raise _not_running(job, what)
    tasks = sorted(entry.tasks.values(), key=lambda task: task.rank)
    task = next((one for one in tasks if worker in (None, one.name, f"{one.role}-{one.index}")), None)
    if task is None:
        raise _not_running(job, what)
    if not isinstance(task.state, TaskRunning):
        raise Conflict(
            f"{task.name} is {task.state_name}, and {what}",
            hint=f"`muster explain {job.name}` says what the job waits for, `muster get workers {job.name}` which run",
        )
    return task, len(tasks)


def _not_running(job: Job, what: str) -> Conflict:
    how = "has ended" if job.is_final else f"is {job.state_name}"
    hint = f"`muster logs {job.name}` prints what it said" if job.is_final else f"`muster explain {job.name}` says why"
    return Conflict(f"job {job.name} {how}, and {what}", hint=hint)
