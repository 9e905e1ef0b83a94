"""The reason that a job has by its state: why it failed, or who held or stopped it. A reason to wait is not part of a
job; the scheduler knows it."""

from muster.domain.failures.faults import Fault
from muster.domain.jobs import Cancelled, Failed, Held, Job, Outcome, Stopping, Verdict
from muster.domain.reasons import Reason


def held_by(actor: str) -> str:
    return f"held by {actor}"


def killed_by(actor: str) -> str:
    return f"killed by {actor}"


def stored_reason(job: Job) -> Reason:
    """The sentence that was stored with the job, and its code, which is empty if it has none."""
    match job.state:
        case Failed(fault=fault) | Stopping(verdict=Verdict(fault=Fault() as fault)):
            return Reason(fault.code, job.reason, fault.advice, _numbers(fault))
        case Held(by=str(actor)) | Stopping(verdict=Verdict(outcome=Outcome.HOLD, by=str(actor))):
            return Reason("held" if job.reason == held_by(actor) else "", job.reason, numbers={"by": actor})
        case Cancelled(by=str(actor)) | Stopping(verdict=Verdict(outcome=Outcome.CANCEL, by=str(actor))):
            return Reason("killed-by" if job.reason == killed_by(actor) else "", job.reason, numbers={"by": actor})
        case _:
            return Reason("", job.reason)


def _numbers(fault: Fault) -> dict[str, int | float | str]:
    found = {"task": fault.task, "exit_code": fault.exit_code, "signal": fault.signal}
    return {**{name: value for name, value in found.items() if value is not None}, **fault.words}
