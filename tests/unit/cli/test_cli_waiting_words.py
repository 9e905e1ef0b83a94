"""A job that waits says why, each reason once, and is quiet once it runs."""

import threading

import pytest

from muster.cli.wait_reasons import print_wait_reasons
from muster.client import Client
from tests.unit.client.tiny_server import Answer, TinyServer, a_job

pytestmark = pytest.mark.fast

DEADLINE_S = 60.0


def test_reason_is_said_while_the_job_waits(server: TinyServer) -> None:
    waiting = a_job(state="Queued", reason="needs 2 GPUs, 0 are free")
    server.on("GET", "/jobs/mnist", Answer(200, waiting))
    server.on("GET", f"/jobs/{waiting['id']}", Answer(200, waiting))
    heard, said = threading.Event(), []

    def say(words: str) -> None:
        said.append(words)
        heard.set()

    with print_wait_reasons(Client(server.url).job("mnist"), say, first_s=0.001):
        assert heard.wait(DEADLINE_S)
    assert said == ["  Queued: needs 2 GPUs, 0 are free"]


def test_running_job_is_not_talked_about(server: TinyServer) -> None:
    asked = threading.Event()

    def running(_: object) -> Answer:
        asked.set()
        return Answer(200, a_job())

    server.on("GET", "/jobs/mnist", Answer(200, a_job()))
    server.on("GET", f"/jobs/{a_job()['id']}", running)
    said: list[str] = []
    with print_wait_reasons(Client(server.url).job("mnist"), said.append, first_s=0.001):
        assert asked.wait(DEADLINE_S)
    assert said == []
