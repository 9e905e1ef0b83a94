"""How many jobs per second one bulk call gets accepted."""

import time
from collections.abc import Sequence

from bench.muster.case import Case, Figures
from bench.muster.client import MusterClient, job_spec
from bench.muster.server import MusterServer
from bench.scale import Scale
from bench.table import Row, Unit, at_least
from bench.workload import Workload, wait_for_marks

BAR = Row("jobs accepted per second, one bulk call", Unit.PER_SECOND, bar=at_least(1000))


def run(scale: Scale, figures: Figures) -> Sequence[Row]:
    with MusterServer() as server:
        client = MusterClient(server.address)
        workload = Workload.create(server.home / "bench")
        marks = workload.marks_file("bulk")
        specs = [job_spec(f"bulk-{index}", workload.mark_script, str(marks)) for index in range(scale.jobs)]
        began = time.monotonic()
        accepted = len(client.submit_bulk(specs))
        accepted_s = time.monotonic() - began
        finished_s = wait_for_marks(marks, scale.jobs) - began
    note = f"{accepted} of {scale.jobs} accepted, all run after {finished_s:.1f} s"
    return [
        Row(BAR.what, BAR.unit, accepted / accepted_s, bar=BAR.bar, note=note),
        Row("jobs per second, one bulk call", Unit.PER_SECOND, scale.jobs / finished_s),
    ]


CASE = Case("bulk", "one bulk call of 1,000 jobs", run, lambda figures: [BAR])
