"""How many bytes of logs and outputs the server keeps for each user, as far as they have been measured."""

from collections import Counter, defaultdict
from dataclasses import dataclass

from muster.domain.jobs import Job


@dataclass(frozen=True, slots=True)
class JobData:
    name: str
    owner: str
    log_bytes: int
    output_bytes: int

    @property
    def total_bytes(self) -> int:
        return self.log_bytes + self.output_bytes


class KeptData:
    def __init__(self) -> None:
        self._jobs: dict[str, dict[str, JobData]] = defaultdict(dict)
        """The data that is kept of each job, by owner and job."""
        self._logs: Counter[str] = Counter()
        self._outputs: Counter[str] = Counter()
        self._unmeasured: dict[str, Job] = {}
        """Jobs whose data has changed since it was measured, by id."""
        self._measuring: dict[str, Job] = {}

    def changed(self, job: Job) -> None:
        self._unmeasured[job.id] = job

    def to_measure(self) -> list[Job]:
        """The jobs whose data has changed. The caller measures them, and calls `measured`."""
        self._measuring, self._unmeasured = self._unmeasured, {}
        return list(self._measuring.values())

    def measured(self, job_id: str, data: JobData) -> None:
        """Data that was removed while it was measured does not count."""
        if job_id not in self._measuring:
            return
        self._subtract(job_id, data.owner)
        self._jobs[data.owner][job_id] = data
        self._logs[data.owner] += data.log_bytes
        self._outputs[data.owner] += data.output_bytes

    def forget(self, job_id: str, owner: str) -> None:
        """The data of the job is removed."""
        self._unmeasured.pop(job_id, None)
        self._measuring.pop(job_id, None)
        self._subtract(job_id, owner)
        if not self._jobs[owner]:
            del self._jobs[owner], self._logs[owner], self._outputs[owner]

    def _subtract(self, job_id: str, owner: str) -> None:
        before = self._jobs[owner].pop(job_id, None)
        if before is not None:
            self._logs[owner] -= before.log_bytes
            self._outputs[owner] -= before.output_bytes

    def log_bytes(self, owner: str) -> int:
        return self._logs[owner]

    def output_bytes(self, owner: str) -> int:
        return self._outputs[owner]

    def largest(self, owner: str, count: int) -> list[JobData]:
        """The jobs of the owner with the most data, the largest first."""
        data = self._jobs.get(owner, {}).values()
        return sorted(data, key=lambda one: (-one.total_bytes, one.name))[:count]
