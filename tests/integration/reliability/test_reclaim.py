"""A promise kept with real processes: whoever borrowed is stopped, saves its work, and goes on later."""

from pathlib import Path

import pytest

from tests.integration.reliability.conftest import unkindly_treated
from tests.parts.server import MusterServer, polls

SHARES = """
{name: vision, guaranteed: {gpu: {A100: 4}}}
---
{name: speech}
"""
# Goes on from where it was stopped, as a program that trains does; the step it is at is its checkpoint.
TRAINING = """
step=$(cat {folder}/step 2>/dev/null || echo 0)
echo "begins at step $step" >> {folder}/story
trap 'echo $step > {folder}/step; touch "$MUSTER_TASK_DIR/checkpoint"; exit 1' TERM
while ! [ -e {folder}/end ]; do step=$((step + 1)); sleep 0.05; done
echo "ends" >> {folder}/story
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    (folder / "clusters.d").mkdir(parents=True)
    (folder / "clusters.d" / "vcs.yaml").write_text(SHARES)
    return folder


def a_borrower(server: MusterServer, folder: Path) -> str:
    command = TRAINING.replace("{folder}", str(folder))
    spec = {"name": "whisper", "cluster": "speech", "command": command, "resources": {"cpu": "10m", "gpu": 4}}
    job = server.submit(spec)
    for _ in polls(30):
        if (folder / "story").exists():
            return str(job["id"])
    raise AssertionError("the borrower did not start")


def an_owner(server: MusterServer, folder: Path) -> str:
    command = f"while ! [ -e {folder}/leave ]; do sleep 0.05; done"
    spec = {"name": "resnet", "cluster": "vision", "command": command, "resources": {"cpu": "10m", "gpu": 4}}
    return str(server.submit(spec)["id"])


def wait_for_attempt(server: MusterServer, job_id: str, attempt: int) -> None:
    for _ in polls(60):
        _, job = server.call("GET", f"/api/v1/jobs/{job_id}")
        if (job["state"], job["attempt"]) == ("Running", attempt):
            return
    raise AssertionError(f"no attempt {attempt}: {job}")


@pytest.mark.parametrize("crash", [False, True], ids=["", "the server is killed in the middle"])
def test_a_promise_is_kept_and_the_borrower_goes_on_from_its_checkpoint(
    home: Path, tmp_path: Path, crash: bool
) -> None:
    with unkindly_treated(home) as server:
        server.start()
        borrower = a_borrower(server, tmp_path)
        owner = an_owner(server, tmp_path)
        if crash:
            server.wait_for_state(borrower, "Stopping", "Queued")
            server.kill()
            server.start()
        server.wait_for_state(owner, "Running")
        job = server.wait_for_state(borrower, "Queued")
        assert (job["preemptions"], job["retries"]) == (1, 0)
        assert int((tmp_path / "step").read_text()) > 0
        (tmp_path / "leave").touch()
        wait_for_attempt(server, borrower, 2)
        (tmp_path / "end").touch()
        assert server.wait(borrower)["state"] == "Succeeded"
        _, told = server.call("GET", f"/api/v1/jobs/{borrower}/events")
    assert any(
        "resnet" in (event["data"].get("reason") or "") for event in told["items"] if event["kind"] == "job.stopping"
    )
    first, second, last = (tmp_path / "story").read_text().splitlines()
    assert (first, last) == ("begins at step 0", "ends")
    assert second == f"begins at step {(tmp_path / 'step').read_text().strip()}"
