"""How much is measured: the whole table, or a quick look while working on something."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Scale:
    starts: int = 30
    jobs: int = 1000
    settle_s: float = 5.0
    idle_s: float = 20.0
    command_repeats: int = 5
    sustained_s: float = 30.0
    sustained_per_s: float = 300.0
    queued: int = 1000
    stored: int = 10_000
    """Jobs kept when the command line is weighed, and the far end of the flat-cost measure."""
    finished_few: int = 1000
    finished_many: int = 100_000
    followers: int = 100
    lines_per_s: int = 5000
    follow_s: float = 10.0
    open_pages: int = 1000
    """Half of them are lists, half are pages of one job each."""
    open_pages_jobs_per_s: float = 20.0
    trace_jobs: int = 0
    """Of a large trace only the first so many; 0: all."""
    shared_jobs: int = 0
    """The same where virtual clusters share."""
    crowd_nodes: int = 10_000
    crowd_jobs: int = 100_000
    crowd_steps: int = 5000
    crowd_phase_s: float = 60.0
    """A phase that repeats itself stops after so long."""
    fleet_nodes: int = 200
    large_fleet_nodes: int = 1000
    fleet_s: float = 60.0
    loud_s: float = 20.0
    package_megabytes: int = 200
    operator_few: int = 50
    operator_many: int = 500
    """PaddleJobs created at once."""
    log_records: int = 100_000
    experiments: int = 10_000


FULL = Scale()
QUICK = Scale(
    starts=8,
    jobs=200,
    settle_s=2.0,
    idle_s=5.0,
    command_repeats=3,
    sustained_s=5.0,
    queued=200,
    stored=1000,
    finished_many=10_000,
    followers=20,
    follow_s=3.0,
    open_pages=200,
    trace_jobs=1000,
    shared_jobs=5000,
    crowd_nodes=400,
    crowd_jobs=4000,
    crowd_steps=200,
    crowd_phase_s=1.5,
    large_fleet_nodes=300,
    fleet_s=20.0,
    loud_s=5.0,
    package_megabytes=50,
    operator_few=10,
    operator_many=50,
    log_records=20_000,
    experiments=2000,
)
