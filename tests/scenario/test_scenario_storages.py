"""Jobs that name storages: which folder each cluster means by them, and who learns of it."""

from dataclasses import replace

import pytest

from muster.domain.accounts import UserRole
from muster.domain.clusters import Folder, PhysicalCluster, folder_label
from muster.domain.errors import Invalid, Problem
from muster.domain.specs import JobSpec, Mount
from muster.engine.lifecycle.launching import compose_gang
from muster.engine.requests import commands
from muster.engine.requests.accounts import Accounts
from muster.engine.requests.dry_running import dry_run
from muster.engine.requests.schedule import LookAhead
from muster.engine.requests.storages import usable_storages
from tests.parts.building import a_node, a_role, a_spec
from tests.parts.laboratory import Laboratory
from tests.scenario.test_scenario_needs import Described

pytestmark = pytest.mark.anyio
FOLDERS = (Folder("pool", "/srv/pool"), Folder("vault", "/srv/vault", users=("eve",)))
SETTINGS = PhysicalCluster("lab", "fake", folders=FOLDERS, storages={"nfs": "pool/teams/nlp", "safe": "vault/x"})


class Mounting(Described):
    def cannot_honour(self, spec: JobSpec) -> list[Problem]:
        return []


@pytest.fixture
async def stored(lab: Laboratory) -> Laboratory:
    await lab.close()
    found = {folder_label(folder.name): "ok" for folder in FOLDERS}
    lab.backend = Mounting([replace(a_node("n1"), labels=found)])
    lab.backend.settings = SETTINGS
    return await lab.open()


def mounting(*mounts: Mount) -> JobSpec:
    return a_spec(mounts=mounts)


async def test_a_storage_is_the_folder_that_the_cluster_means(stored: Laboratory) -> None:
    spec = mounting(Mount("", "data", storage="nfs"), Mount("", "all", storage="pool"), Mount("pool/x", "x"))
    job_id = await stored.submit(spec)
    job = await stored.becomes(job_id, "Running")
    assert job.spec.mounts == (
        Mount("pool/teams/nlp", "data", storage="nfs"),
        Mount("pool", "all", storage="pool"),
        Mount("pool/x", "x"),
    )
    entry = stored.context.open_jobs.get(job_id)
    assert entry is not None
    (request,) = compose_gang(stored.context, job, entry.current_tasks()).requests
    assert request.links == {"data": "/srv/pool/teams/nlp", "all": "/srv/pool", "x": "/srv/pool/x"}


async def test_a_storage_that_is_unknown_is_refused_with_those_that_are_there(stored: Laboratory) -> None:
    with pytest.raises(Invalid) as refused:
        await stored.submit(mounting(Mount("pool", "a"), Mount("", "b", storage="nsf")))
    (problem,) = refused.value.problems
    assert (problem.path, problem.message) == ("mounts[1].storage", "cluster lab has no storage 'nsf'")
    assert problem.hint == "did you mean nfs? known storages: nfs, pool"


async def test_a_storage_in_a_folder_of_others_is_unknown_to_everybody_else(stored: Laboratory) -> None:
    accounts = Accounts(stored.context, 3600.0)
    eve = await accounts.create_user("eve", UserRole.USER, None, actor="root")
    amy = await accounts.create_user("amy", UserRole.USER, None, actor="root")
    assert usable_storages(SETTINGS, eve) == ["nfs", "safe", "pool", "vault"]
    assert usable_storages(SETTINGS, amy) == ["nfs", "pool"]
    for name in ("safe", "vault"):
        spec = replace(mounting(Mount("", "data", storage=name)), name=name)
        with pytest.raises(Invalid) as refused:
            await commands.submit(stored.context, spec, "amy", None)
        (problem,) = refused.value.problems
        assert problem.message == f"cluster lab has no storage '{name}'"
        assert "vault" not in problem.hint
        job, _ = await commands.submit(stored.context, spec, "eve", None)
        assert job.spec.mounts[0].source.startswith("vault")


async def test_a_dry_run_shows_each_task_with_devices_and_ports_of_its_own(lab: Laboratory) -> None:
    await lab.close()
    lab.backend = Described([a_node("n1", 8, 1 << 35, *["A100"] * 4), a_node("n2", 8, 1 << 35, *["A100"] * 4)])
    await lab.open()
    spec = a_spec(a_role("ps", 1), a_role("worker", 3, gpus=2))
    shown = (await dry_run(lab.context, LookAhead(), spec, "amy")).requests
    given = [(request.node, device) for request in shown for device in request.devices]
    assert len(given) == len(set(given)) == 6
    assert {request.node for request in shown} == {"n1", "n2"}
    assert [len(request.devices) for request in shown] == [0, 2, 2, 2]
    assert [request.env["CUDA_VISIBLE_DEVICES"] for request in shown[1:]].count("0,1") <= 2
    again = (await dry_run(lab.context, LookAhead(), spec, "amy")).requests
    assert [(one.node, one.devices) for one in again] == [(one.node, one.devices) for one in shown]
