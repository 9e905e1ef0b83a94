"""The table of `muster usage`, as people read it."""

from typing import Any

import pytest

from muster.cli.tables.job_usage import energy, usage_lines

pytestmark = pytest.mark.fast
NOTHING: dict[str, Any] = dict.fromkeys(
    (
        "cpuS",
        "meanCores",
        "peakCores",
        "peakMemoryBytes",
        "gpuPercent",
        "peakGpuPercent",
        "peakGpuMemoryBytes",
        "energyJ",
    )
)

TABLE = """
WORKER        STATE        RUN  CPU TIME  CORES   PEAK  MEMORY             GPUS   GPU  GPU PEAK  GPU MEMORY  ENERGY
a-worker-0    Succeeded  2m 5s    4m 10s  2 of 4   3.5  3.0 GiB of 64 GiB     2  31 %      97 %    12.0 GiB    2 Wh
a-worker-1    Running       0s         -  - of 4     -  - of 64 GiB           2     -         -           -       -
attempt 1     -          2m 5s    4m 10s  2 of 8   3.5  3.0 GiB               4  31 %      97 %    12.0 GiB    2 Wh
a-worker-0    Succeeded  2m 5s    4m 10s  2 of 4   3.5  3.0 GiB of 64 GiB     2  31 %      97 %    12.0 GiB    2 Wh
a-worker-1    Running       0s         -  - of 4     -  - of 64 GiB           2     -         -           -       -
attempt 2     -          2m 5s    4m 10s  2 of 8   3.5  3.0 GiB               4  31 %      97 %    12.0 GiB    2 Wh
all attempts  -          2m 5s    4m 10s  2        3.5  3.0 GiB               -  31 %      97 %    12.0 GiB    2 Wh
"""


def used(**known: Any) -> dict[str, Any]:
    return {**NOTHING, "sampled": False, **known}


def a_task(name: str, use: dict[str, Any] | None, run_s: float = 125.0, gpus: float = 0, **more: Any) -> dict[str, Any]:
    asked = {"cores": 4.0, "memoryBytes": 64 << 30, "gpus": gpus}
    return {"name": name, "state": "Succeeded", "runS": run_s, "asked": asked, "used": use, "gpus": [], **more}


def a_job(*attempts: dict[str, Any], use: dict[str, Any], advice: str = "") -> dict[str, Any]:
    return {
        "name": "a",
        "state": "Succeeded",
        "waitS": 10800.0,
        "runS": 125.0,
        "gpuHours": sum(one["gpuHours"] for one in attempts),
        "used": use,
        "advice": advice,
        "attempts": list(attempts),
    }


def test_one_worker_has_no_sums() -> None:
    use = used(cpuS=0.1 + 0.2, meanCores=0.002, peakCores=1.0, peakMemoryBytes=3 << 30)
    attempt = {
        "attempt": 1,
        "waitS": 1.0,
        "runS": 125.0,
        "gpuHours": 0,
        "used": use,
        "tasks": [a_task("a-worker-0", use)],
    }
    assert usage_lines(a_job(attempt, use=use)) == [
        "WORKER      STATE        RUN  CPU TIME  CORES       PEAK  MEMORY",
        "a-worker-0  Succeeded  2m 5s      0.3s  <0.01 of 4     1  3.0 GiB of 64 GiB",
        "",
        "Waited 3h, ran 2m 5s, 0.3s of CPU, 3.0 GiB of memory at most.",
    ]


def test_gpus_and_attempts_have_columns_and_sums() -> None:
    use = used(
        cpuS=250.0, meanCores=2.0, peakCores=3.5, peakMemoryBytes=3 << 30, gpuPercent=31.0, peakGpuPercent=97.0,
        peakGpuMemoryBytes=12 << 30, energyJ=7200.0, sampled=True,
    )  # fmt: skip
    tasks = [a_task("a-worker-0", use, gpus=2), a_task("a-worker-1", None, run_s=0.0, gpus=2, state="Running")]
    first = {"attempt": 1, "waitS": 1.0, "runS": 125.0, "gpuHours": 0.0694, "used": use, "tasks": tasks}
    words = "It asked for 4 GPUs and used 1, at 31 %: ask for fewer."
    lines = usage_lines(a_job(first, {**first, "attempt": 2}, use=use, advice=words))
    table, _, rest = "\n".join(lines).partition("\n\n")
    assert table == TABLE.strip()
    assert rest.splitlines() == [
        "Waited 3h, ran 2m 5s, 4m 10s of CPU, 3.0 GiB of memory at most, 0.14 GPU hours, GPUs at 31 %, "
        "2 Wh of energy (from samples).",
        words,
    ]


def test_a_job_that_waits_has_no_table() -> None:
    assert usage_lines(a_job(use=used()))[0] == "no task has started"


@pytest.mark.parametrize(
    ("joules", "text"), [(None, None), (0.0, "0 J"), (3599, "3599 J"), (36000, "10 Wh"), (7.2e6, "2.00 kWh")]
)
def test_energy_has_the_unit_that_fits(joules: float | None, text: str | None) -> None:
    assert energy(joules) == text
