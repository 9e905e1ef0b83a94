"""Members per second of one sweep, from its submission until the last one has done its work, and HyperQueue's tasks per
second of one job with as many."""

import time
from collections.abc import Sequence

from bench.muster.case import Case, Figures
from bench.muster.client import MusterClient, Refused, job_spec
from bench.muster.server import MusterServer
from bench.peers.hyperqueue import HyperQueue
from bench.scale import Scale
from bench.table import Row, Unit, ratio_at_least
from bench.workload import Workload, check_marks, wait_for_marks

BAR = Row("members per second of one sweep", Unit.PER_SECOND, peer="HyperQueue", bar=ratio_at_least(0.5))
_OPEN = ("Queued", "Running", "Stopping")
_ENDED_WITHIN_S = 60.0


def run(scale: Scale, figures: Figures) -> Sequence[Row]:
    with MusterServer() as server:
        client = MusterClient(server.address)
        workload = Workload.create(server.home / "bench")
        _run_sweep(client, workload, "warm", 10)
        rate = _run_sweep(client, workload, "sweep", scale.jobs)
    theirs, note = _of_hyperqueue(scale.jobs)
    return [Row(BAR.what, BAR.unit, rate, BAR.peer, theirs, BAR.bar, note)]


def _run_sweep(client: MusterClient, workload: Workload, name: str, count: int) -> float:
    marks = workload.marks_file(name)
    spec = {**job_spec(name, workload.mark_script, str(marks)), "sweep": {"seeds": count}}
    began = time.monotonic()
    sweep = client.submit_sweep(spec)
    seconds = wait_for_marks(marks, count) - began
    check_marks(marks, count)
    deadline = time.monotonic() + _ENDED_WITHIN_S
    while (found := client.sweep(sweep["id"]))["state"] in _OPEN and time.monotonic() < deadline:
        time.sleep(0.05)
    if found["counts"] != {"Succeeded": count}:
        raise Refused(f"the members of {name} ended as {found['counts']}")
    return count / seconds


def _of_hyperqueue(count: int) -> tuple[float | None, str]:
    """Its rate; or none, with the reason, if it cannot be installed or run here."""
    peer = HyperQueue()
    try:
        peer.start()
        assert peer.driver is not None
        peer.driver.run_together(10)
        return peer.driver.run_together(count), "one job of as many tasks"
    except Exception as error:
        return None, f"HyperQueue could not be measured: {error}"
    finally:
        peer.stop()


CASE = Case("sweep", "one sweep of 1,000 members", run, lambda figures: [BAR])
