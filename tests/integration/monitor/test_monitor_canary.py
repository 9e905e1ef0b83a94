"""The canary job and the figures of the week, asked of a real server."""

import asyncio
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from muster.monitor.canary import LABEL, NAME, CanaryJob, fly
from muster.monitor.gathering import gathered
from muster.monitor.outcomes import ReasonCode, Step
from muster.monitor.receiver_calls import Receiver
from muster.monitor.receiver_checks import ReceiverChecks
from muster.monitor.stories import Availability, DigestStory, Figures
from muster.monitor.telling import Teller
from tests.integration.monitor.watchers import watching
from tests.parts.mail_server import MailServer
from tests.parts.server import MusterServer, polls

PATIENT_S = 60.0


@pytest.fixture
def watched(receiver: MusterServer) -> Receiver:
    return Receiver("gpu1", receiver.url, None, receiver.token)


def a_canary(command: str = "true", timeout_s: float = 2 * PATIENT_S) -> CanaryJob:
    return CanaryJob(600.0, timeout_s, "watcher", {"command": command, "resources": {"cpu": 0.1}})


def jobs(server: MusterServer) -> list[Any]:
    _, page = server.call("GET", f"/api/v1/jobs?text={NAME}")
    return list(page["items"])


def test_a_canary_that_succeeds_leaves_nothing_behind(receiver: MusterServer, watched: Receiver) -> None:
    assert fly(watched, a_canary()).reason is None
    assert jobs(receiver) == []


def test_a_canary_that_fails_is_told_with_its_reason(receiver: MusterServer, watched: Receiver) -> None:
    reason = fly(watched, a_canary("exit 3")).reason
    assert reason is not None
    assert (reason.code, reason.step, reason.details["state"]) == (ReasonCode.CANARY_FAILED, Step.CANARY, "Failed")
    assert jobs(receiver) == []


def test_a_canary_that_never_ends_is_told_and_ended(receiver: MusterServer, watched: Receiver) -> None:
    reason = fly(watched, a_canary("sleep 3000", timeout_s=1.0)).reason
    assert reason is not None
    assert reason.code is ReasonCode.CANARY_SLOW
    assert jobs(receiver) == []


def test_canaries_of_a_monitor_that_was_killed_are_removed_and_those_of_others_are_not(
    receiver: MusterServer, watched: Receiver
) -> None:
    mine, others = a_canary(), replace(a_canary(), monitor="another")
    for number, command in enumerate(("sleep 3000", "true")):
        labels = {LABEL: mine.mark_on(watched)}
        receiver.submit({"name": f"{NAME}-{number}", "command": command, "labels": labels})
    labels = {LABEL: others.mark_on(watched)}
    kept = receiver.submit({"name": f"{NAME}-2", "command": "true", "hold": True, "labels": labels})
    assert fly(watched, mine).reason is None
    assert [job["id"] for job in jobs(receiver)] == [kept["id"]]


def test_a_token_that_may_only_read_checks_writing_and_runs_no_canary(receiver: MusterServer) -> None:
    _, token = receiver.call("POST", "/api/v1/tokens", {"name": "monitor", "scope": "read"})
    reader = Receiver("gpu1", receiver.url, None, token["secret"])
    outcome = asyncio.run(ReceiverChecks([reader], PATIENT_S).round())["gpu1"]
    assert (outcome.reason, bool(outcome.installation)) == (None, True)
    reason = fly(reader, a_canary()).reason
    assert reason is not None
    assert reason.code is ReasonCode.FORBIDDEN


def test_a_canary_that_fails_makes_a_notice_that_says_so(
    tmp_path: Path, mails: MailServer, receiver: MusterServer, token_file: Path
) -> None:
    settings = {
        "receivers": [{"url": receiver.url, "name": "gpu1"}],
        "warning_maillist": ["li@example.org"],
        "smtp": {"host": "127.0.0.1", "port": mails.port, "from": "monitor@example.org"},
        "tokenFile": str(token_file),
        "canary": {"every": "10s", "command": "exit 3"},
        "interval": "20s",
        "timeout": "20s",
    }
    with watching(tmp_path / "monitor", settings):
        (mail,) = mails.wait_for(1)
    assert "the canary job ended as Failed" in mail.text


def test_figures_come_once_for_each_database(receiver: MusterServer, watched: Receiver) -> None:
    job = receiver.submit({"name": "failing", "command": "exit 3"})
    receiver.wait(job["id"])
    twin = Receiver("gpu2", receiver.url, None, receiver.token)
    nobody = Receiver("gpu3", "http://127.0.0.1:9", None, "mst_x")

    async def ask() -> tuple[Figures, ...]:
        outcomes = await ReceiverChecks([watched, twin, nobody], PATIENT_S).round()
        installations = {title: outcome.installation for title, outcome in outcomes.items()}
        now = time.time()
        return await gathered([nobody, watched, twin], installations, now - 7 * 86400.0, now)

    absent, figures = asyncio.run(ask())
    assert (absent.receivers, figures.receivers) == (("gpu3",), ("gpu1", "gpu2"))
    assert absent.problem is not None
    assert absent.problem.code is ReasonCode.REFUSED
    assert figures.problem is None
    assert (figures.by_user["total"]["jobs"], figures.by_user["total"]["failures"]) == (1, {"user": 1})
    assert figures.waiting == 0
    rows = (Availability("gpu1", 10, 0, 0, 0.0, False),)
    text = Teller("en", "UTC", "w").notice(DigestStory("1", time.time(), 0.0, rows, (figures,))).text
    assert "Figures of gpu1, gpu2" in text
    assert "the job itself" in text


def test_a_twin_answers_for_a_receiver_that_is_away(receiver: MusterServer, watched: Receiver) -> None:
    away = Receiver("gpu2", "http://127.0.0.1:9", None, "mst_x")

    async def ask() -> tuple[Figures, ...]:
        now = time.time()
        return await gathered([away, watched], {"gpu1": "same", "gpu2": "same"}, now - 86400.0, now)

    (figures,) = asyncio.run(ask())
    assert (figures.receivers, figures.problem) == (("gpu2", "gpu1"), None)


def test_a_full_disk_is_told_as_such(small_disk: Path) -> None:
    server = MusterServer(small_disk / "home")
    server.start()
    try:
        watched = Receiver("gpu1", server.url, None, server.token)
        filler = small_disk / "filler"
        with filler.open("ab", buffering=0) as file:
            for size in (1 << 20, 4096, 1):
                try:
                    while file.write(b"x" * size) == size:
                        pass
                except OSError:
                    continue
        for _ in polls(60):
            reason = asyncio.run(ReceiverChecks([watched], PATIENT_S).round())["gpu1"].reason
            if reason is not None:
                break
        assert reason is not None
        assert reason.code is ReasonCode.STORAGE_FULL
        filler.unlink()
        for _ in polls(60):
            if asyncio.run(ReceiverChecks([watched], PATIENT_S).round())["gpu1"].reason is None:
                return
        raise AssertionError("the server does not recover")
    finally:
        server.stop()
