"""The capabilities `outputs` and `cleanup`: what an ended task leaves, and its removal."""

import hashlib
from pathlib import Path

import pytest

from muster.domain.tasks import Task
from muster.ports.backend import Phase
from muster.ports.capabilities import Cleanup, TaskOutputs, TaskRef
from tests.contract.backends.observing import Site, becomes, named

pytestmark = pytest.mark.anyio
FILES = {"model/weights.bin": "0123456789", "model/notes.txt": "fine", "scratch.tmp": "nobody wants this"}


async def test_outputs_are_what_matches_the_patterns(site: Site, tmp_path: Path) -> None:
    outputs, ref = _outputs(site), TaskRef.of(await _ended_with_files(site))
    target = tmp_path / "outputs"
    for _ in range(2):  # asked again, it goes on from what is there
        found = await outputs.collect(ref, ["model/*"], target, lambda _: True)
        assert {file.path: file.size for file in found.files} == {"model/weights.bin": 10, "model/notes.txt": 4}
        assert (found.left_out, found.skipped, found.too_deep) == ((), 0, 0)
        for file in found.files:
            content = (target / file.path).read_bytes()
            assert content == FILES[file.path].encode()
            assert file.sha256 == hashlib.sha256(content).hexdigest()
        assert not (target / "scratch.tmp").exists()


async def test_outputs_that_are_not_admitted_are_left_out_by_name(site: Site, tmp_path: Path) -> None:
    outputs, ref = _outputs(site), TaskRef.of(await _ended_with_files(site))
    found = await outputs.collect(ref, ["model/*"], tmp_path / "outputs", lambda size: size < 10)
    assert [file.path for file in found.files] == ["model/notes.txt"]
    assert found.left_out == ("model/weights.bin",)
    assert not (tmp_path / "outputs" / "model" / "weights.bin").exists()


async def test_no_match_is_not_an_error(site: Site, tmp_path: Path) -> None:
    outputs, ref = _outputs(site), TaskRef.of(await _ended_with_files(site))
    assert (await outputs.collect(ref, ["*.nothing"], tmp_path / "outputs", lambda _: True)).files == ()


async def test_settling_twice_or_never_launched_does_no_harm(site: Site) -> None:
    cleanup = _cleanup(site)
    ended, running = await site.running(2)
    (never,) = site.gang().tasks
    site.harness.tasks.finish(ended, 0)
    await site.observer.sees(ended, Phase.ENDED)
    for task in (ended, ended, never):
        cleanup.settled(TaskRef.of(task))
    found = named(await site.backend.observe_all(), running)
    assert found is not None
    assert found.phase is Phase.RUNNING


async def test_outputs_are_there_until_the_task_is_forgotten(site: Site, tmp_path: Path) -> None:
    outputs, cleanup = _outputs(site), _cleanup(site)
    if site.backend.capabilities.engine is not None:
        pytest.skip("an engine need not keep a task whose outputs and log were collected")
    ref = TaskRef.of(await _ended_with_files(site))
    cleanup.settled(ref)
    found = await outputs.collect(ref, ["model/*"], tmp_path / "outputs", lambda _: True)
    assert len(found.files) == 2


async def test_a_forgotten_task_is_gone_and_forgetting_it_again_is_harmless(site: Site) -> None:
    cleanup = _cleanup(site)
    ended, running = await site.running(2)
    site.harness.tasks.finish(ended, 0)
    await site.observer.sees(ended, Phase.ENDED)
    for _ in range(2):
        await cleanup.forget(TaskRef.of(ended))
    answer = await site.backend.observe_all()
    assert named(answer, ended) is None
    kept = named(answer, running)
    assert kept is not None, "it belongs to the same gang, and nobody asked to forget it"
    assert kept.phase is Phase.RUNNING
    site.harness.tasks.finish(running, 3)
    assert (await site.observer.sees(running, Phase.ENDED)).exit_code == 3


async def test_a_task_that_never_was_can_be_forgotten(site: Site) -> None:
    (never,) = site.gang().tasks
    await _cleanup(site).forget(TaskRef.of(never))


async def _ended_with_files(site: Site) -> Task:
    (task,) = await site.running(outputs=("model/",))
    site.harness.tasks.leaves(task, FILES)
    site.harness.tasks.finish(task, 0)
    await site.observer.sees(task, Phase.ENDED)
    await becomes(lambda: site.harness.tasks.starts(task) == 1)
    return task


def _outputs(site: Site) -> TaskOutputs:
    outputs = site.backend.capabilities.outputs
    if outputs is None:
        pytest.skip("this backend does not offer outputs")
    return outputs


def _cleanup(site: Site) -> Cleanup:
    cleanup = site.backend.capabilities.cleanup
    if cleanup is None:
        pytest.skip("this backend does not offer cleanup")
    return cleanup
