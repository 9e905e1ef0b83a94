"""What Prometheus and InfluxDB are told of jobs, users and queues, and who may read it."""

import pytest
from prometheus_client.parser import text_string_to_metric_families

from muster.domain.accounts import Token, TokenScope, User, UserRole
from muster.engine.requests.accounts import Principal
from muster.engine.requests.work_figures import work_figures
from muster.exporters.lines import FIELDS, TAGS, lines_of_work
from muster.ports.alerting import NoAlertSource
from muster.ports.capabilities import NodeUsage, TaskUsage
from muster.server.metric_readers import Reader, anybody, reader_of
from muster.server.metrics import Metrics
from tests.parts.building import GIB, a_node, a_role, a_spec
from tests.parts.laboratory import Laboratory

pytestmark = [pytest.mark.fast, pytest.mark.anyio]


async def a_busy_lab(lab: Laboratory) -> str:
    """One job with both GPUs, one of them idle, and one that waits for them."""
    lab.backend.machines[:] = [a_node("n1", 8, 32 * GIB, "A100", "A100")]
    lab.backend.tell_nodes()
    job_id = await lab.submit(a_spec(a_role(gpus=1, replicas=2), name="train"))
    await lab.becomes(job_id, "Running")
    await lab.submit(a_spec(a_role(gpus=2), name="later"))
    lab.pass_time(50)
    gpus = [
        {"index": 0, "load": 90.0, "ecc_errors": 0},
        {"index": 1, "load": 0.0, "missing": True, "foreign_pids": [{"pid": 7, "name": "x"}]},
    ]
    tasks = {f"{job_id}.1.worker.{index}": TaskUsage(150.0, 100, 1) for index in range(2)}
    lab.backend.measured("n1", NodeUsage(lab.now, {"gpus": gpus}, tasks, lab.now))
    return job_id


async def scraped(lab: Laboratory, reader: Reader) -> dict[str, float]:
    text = (await Metrics().render(lab.context, NoAlertSource(), reader)).decode()
    return {
        f"{sample.name}{{{','.join(f'{k}={v}' for k, v in sorted(sample.labels.items()))}}}": sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def of_kind(found: dict[str, float], *prefixes: str) -> dict[str, float]:
    return {name: value for name, value in found.items() if name.startswith(prefixes)}


async def test_jobs_users_queues_and_gpus_are_told(lab: Laboratory) -> None:
    job_id = await a_busy_lab(lab)
    found = await scraped(lab, Reader(["lab"], sees_jobs=True))
    of_job = f"{{cluster=lab,job_id={job_id},job_name=train,user=amy}}"
    jobs = of_kind(found, "muster_job_")
    assert jobs.pop(f"muster_job_run_seconds{of_job}") >= 50
    assert jobs == {
        f"muster_job_tasks{of_job}": 2,
        f"muster_job_gpus_allocated{of_job}": 2,
        f"muster_job_gpu_load_percent{of_job}": 45,
        f"muster_job_cpu_percent{of_job}": 300,
        f"muster_job_memory_bytes{of_job}": 200,
    }
    assert found["muster_user_jobs{cluster=lab,state=Queued,user=amy}"] == 1
    assert found["muster_user_jobs{cluster=lab,state=Running,user=amy}"] == 1
    assert found["muster_user_gpus_allocated{cluster=lab,user=amy}"] == 2
    assert found["muster_user_longest_wait_seconds{cluster=lab,user=amy}"] == 50
    assert found["muster_cluster_jobs{cluster=lab,state=Queued,virtual_cluster=}"] == 1
    assert found["muster_cluster_longest_wait_seconds{cluster=lab,virtual_cluster=}"] == 50
    assert found["muster_cluster_ready{cluster=lab}"] == 1
    assert (found["muster_cluster_gpus{cluster=lab}"], found["muster_cluster_gpus_allocated{cluster=lab}"]) == (2, 2)
    assert found["muster_gpu_allocated{cluster=lab,gpu=1,model=A100,node=n1}"] == 1
    assert found["muster_gpu_lost{cluster=lab,gpu=0,model=A100,node=n1}"] == 0
    assert found["muster_gpu_lost{cluster=lab,gpu=1,model=A100,node=n1}"] == 1
    assert found["muster_gpu_foreign_processes{cluster=lab,gpu=1,model=A100,node=n1}"] == 1


async def test_who_may_not_know_of_the_jobs_of_others_reads_only_counts(lab: Laboratory) -> None:
    await a_busy_lab(lab)
    admin, user = User("root", UserRole.ADMIN, 0.0), User("bo", UserRole.USER, 0.0)

    def principal(who: User, scope: TokenScope) -> Principal:
        return Principal(who, Token("t", who.name, "test", "", 0.0, scope=scope))

    assert of_kind(await scraped(lab, reader_of(lab.context, principal(user, TokenScope.READ))), "muster_job_")
    lab.context.has_private_jobs = True
    assert of_kind(await scraped(lab, reader_of(lab.context, principal(admin, TokenScope.ADMIN))), "muster_job_")
    for reader in (
        anybody(lab.context),
        reader_of(lab.context, principal(user, TokenScope.ADMIN)),
        reader_of(lab.context, principal(admin, TokenScope.READ)),
    ):
        found = await scraped(lab, reader)
        assert of_kind(found, "muster_job_", "muster_user_") == {}
        assert not any("amy" in name or "train" in name for name in found)
        assert found["muster_cluster_gpus_allocated{cluster=lab}"] == 2


async def test_a_cluster_that_is_not_for_the_reader_is_in_no_metric(lab: Laboratory) -> None:
    await a_busy_lab(lab)
    assert not any("cluster=lab" in name for name in await scraped(lab, Reader([], sees_jobs=True)))


async def test_influxdb_is_told_the_same(lab: Laboratory) -> None:
    job_id = await a_busy_lab(lab)
    lines = lines_of_work(work_figures(lab.context), 1700000000.25)
    (job,) = [line for line in lines if line.startswith("job,")]
    assert job.startswith(f"job,cluster=lab,user=amy,id={job_id},job=train tasks=2.0,gpus=2.0,gpu_load=0.45,cpu=300.0,")
    assert job.endswith(" 1700000000250")
    assert "user,cluster=lab,user=amy queued=1.0,running=1.0,held=0.0,wait_seconds=50.0,gpus=2.0 1700000000250" in lines
    assert "queue,cluster=lab queued=1.0,running=1.0,held=0.0,wait_seconds=50.0 1700000000250" in lines
    for line in lines:
        series, fields, _ = line.split(" ")
        measurement, *tags = series.split(",")
        assert {tag.split("=")[0] for tag in tags} <= set(TAGS[measurement])
        assert {field.split("=")[0] for field in fields.split(",")} <= set(FIELDS[measurement])
