"""Runs of programs outside of Muster: how many and how much they may store."""

from pathlib import Path

import pytest

from muster.domain.errors import Invalid, NotAuthenticated
from muster.domain.job_notes import JobNote, NoteKind
from muster.domain.jobs import Job, Running, Succeeded
from muster.engine.data.report_tokens import job_of_token, report_token_values
from muster.engine.requests import commands, reported_runs
from muster.engine.requests.reported_runs import NewRun
from muster.launch.mlflow_access import REPORT_SECRET
from muster.settings.secret_keys import SecretKeyFile
from muster.stores.secret_box import AesSecretBox
from tests.parts.building import a_spec
from tests.parts.laboratory import Laboratory

pytestmark = [pytest.mark.fast, pytest.mark.anyio]


async def begun(lab: Laboratory, owner: str = "amy", tags: int = 0) -> Job:
    notes = [(NoteKind.TAG, f"t{number}", "x" * 8000) for number in range(tags)]
    asked = NewRun("net", "0", lab.context.clock(), "mlflow")
    return await reported_runs.begin(lab.context, owner, asked, notes, None)


async def test_the_runs_of_one_owner_that_are_under_way_are_bounded(
    lab: Laboratory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reported_runs, "MOST_OPEN", 3)
    runs = [await begun(lab) for _ in range(3)]
    with pytest.raises(Invalid, match="have not ended"):
        await begun(lab)
    await begun(lab, "bob")
    ended = await reported_runs.end(lab.context, runs[0], Succeeded(lab.context.clock()), "")
    await begun(lab)
    with pytest.raises(Invalid, match="have not ended"):
        await reported_runs.end(lab.context, ended, Running(ended.created_at), "")


async def test_the_notes_of_a_run_are_bounded(lab: Laboratory) -> None:
    with pytest.raises(Invalid, match="are allowed"):
        await begun(lab, tags=140)
    run = await begun(lab, tags=100)
    more = [JobNote(run.id, NoteKind.TAG, f"more{number}", "ä" * 4000) for number in range(40)]
    with pytest.raises(Invalid, match="are allowed"):
        await reported_runs.note(lab.context, run, more)
    await reported_runs.note(lab.context, run, more[:20])
    await reported_runs.note(lab.context, run, [JobNote(run.id, NoteKind.TAG, "t0", "short")])
    assert len(await lab.context.store.notes([run.id])) == 120


async def test_the_token_of_a_task_counts_only_while_its_attempt_is_under_way(lab: Laboratory, tmp_path: Path) -> None:
    lab.context.secret_box = AesSecretBox(SecretKeyFile(tmp_path / "secrets-key"))
    job_id = await lab.submit(a_spec(env={"MLFLOW_TRACKING_URI": "muster"}, retry_max=1))
    job = await lab.becomes(job_id, "Running")
    token = (await report_token_values(lab.context, job))[REPORT_SECRET].decode()
    assert job_of_token(lab.context, token).id == job_id
    (task,) = lab.backend.of(job_id, 1)
    lab.backend.end(task, 1)
    for state in ("Queued", "Held"):
        waiting = await lab.becomes(job_id, state)
        assert waiting.attempt == 1
        with pytest.raises(NotAuthenticated):
            job_of_token(lab.context, token)
        if state == "Queued":
            await commands.hold(lab.context, job_id, "amy")
