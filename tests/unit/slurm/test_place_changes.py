"""When a Slurm cluster may be somewhere else, while it still has jobs where it was."""

from dataclasses import replace

import pytest

from muster.backends.logins.options import Login
from muster.backends.slurm.gang_marks import Begin, End, GangMarks, TaskMarks
from muster.backends.slurm.login.place_changes import PlaceChange, at_the_place_of, changed_keys
from muster.backends.slurm.options import SlurmOptions, SubmitAs, SubmitSettings
from muster.domain.pools import Pool, PoolCapacity

pytestmark = pytest.mark.fast
BEFORE = SlurmOptions(root="/shared", conf="/etc/slurm.conf")
RUNNING = GangMarks("j.1", "7", "job.j.1", (TaskMarks("j.1.worker.0", Begin(1.0, "n1")),))
OVER = GangMarks("j.1", "7", "job.j.1", (TaskMarks("j.1.worker.0", Begin(1.0, "n1"), End(2.0, exit_code=0)),))


@pytest.mark.parametrize(
    ("after", "keys"),
    [
        (replace(BEFORE, root="/other"), ("sharedFolder",)),
        (replace(BEFORE, is_shared=False, root=""), ("sharedFolder",)),
        (replace(BEFORE, is_shared=False, submit_as=SubmitAs.USER), ("submitAs",)),
        (replace(BEFORE, login=Login("login2"), root="/other"), ("login", "sharedFolder")),
        (replace(BEFORE, conf="/other.conf", commands="/opt/bin"), ("commands", "conf")),
        (replace(BEFORE, submit=SubmitSettings(partition="long"), python="/opt/python3", poll_s=3.0), ()),
    ],
)
def test_only_settings_that_say_where_the_cluster_is_move_it(after: SlurmOptions, keys: tuple[str, ...]) -> None:
    assert changed_keys(BEFORE, after) == keys
    assert changed_keys(BEFORE, at_the_place_of(BEFORE, after)) == ()


def test_settings_of_new_jobs_count_while_the_cluster_stays() -> None:
    after = replace(BEFORE, root="/other", submit=SubmitSettings(partition="long"))
    kept = at_the_place_of(BEFORE, after)
    assert (kept.root, kept.submit.partition) == ("/shared", "long")


def test_change_waits_until_nothing_is_left_and_the_cluster_starts_nothing_meanwhile() -> None:
    change = _change(("sharedFolder",), left=3)
    whole = Pool(PoolCapacity(4000), PoolCapacity(4000), PoolCapacity(4000), PoolCapacity(4000))
    held = change.held(whole)
    assert (held.total, held.available, held.head_start) == (whole.total, PoolCapacity(), PoolCapacity())
    assert "sharedFolder is changed when its 3 jobs have ended" in held.note

    assert not change.is_due([RUNNING, OVER], 0, is_answering=True)
    assert not change.is_due([], 1, is_answering=True), "a job that is being submitted is not there yet"
    assert not change.is_due([OVER], 0, is_answering=True), "its outputs are still there"
    assert "its last job has ended" in change.note
    assert change.is_due([], 0, is_answering=True)


def test_job_that_runs_is_waited_for_however_long_it_takes() -> None:
    clock = [0.0]
    change = PlaceChange(("login",), BEFORE, 60.0, 1, lambda: clock[0])
    for _ in range(5):
        clock[0] += 100.0
        assert not change.is_due([RUNNING], 0, is_answering=True)


@pytest.mark.parametrize(("keys", "is_due"), [(("login",), True), (("conf",), True), (("sharedFolder",), False)])
def test_old_place_where_nobody_answers_is_left_only_if_the_change_may_mend_that(
    keys: tuple[str, ...], is_due: bool
) -> None:
    clock = [0.0]
    change = PlaceChange(keys, BEFORE, 60.0, 1, lambda: clock[0])
    assert not change.is_due([RUNNING], 0, is_answering=False)
    clock[0] = 61.0
    assert change.is_due([RUNNING], 0, is_answering=False) is is_due


def _change(keys: tuple[str, ...], left: int) -> PlaceChange:
    return PlaceChange(keys, BEFORE, 60.0, left, lambda: 0.0)
