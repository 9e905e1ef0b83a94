"""The logs of pods are kept as a whole, whatever the API server, the kubelet and the server's own disk do meanwhile."""

import asyncio
import threading
from base64 import b64encode
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from muster.backends.kubernetes import log_following
from muster.backends.kubernetes.logs import PodLogs
from muster.backends.kubernetes.pods import secret_key
from muster.domain.errors import Unreachable
from muster.kubernetes.connection import Connection, connect
from muster.ports.capabilities import TaskRef
from tests.parts.tiny_api_server import Answer, Asked, kubeconfig_for, tiny_api_server
from tests.unit.backends.kubernetes.building import A_TIME, TASK, a_pod

pytestmark = [pytest.mark.fast, pytest.mark.anyio]

RUNNING = {"running": {"startedAt": A_TIME}}
ONE, TWO = b"2026-01-02T03:04:01.000000001Z one\n", b"2026-01-02T03:04:02.000000001Z two\n"
UNKNOWN: Answer = (404, [{"reason": "NotFound", "message": "the server could not find the requested resource"}])
REFUSED: Answer = (400, [{"reason": "BadRequest", "message": "unable to retrieve container logs for containerd://4"}])
AWAY: Answer = (503, [{"message": "try again"}])
REF = TaskRef(TASK)


def the_pod(uid: str = "u1") -> dict[str, Any]:
    pod = a_pod(RUNNING)
    return {**pod, "metadata": {**pod["metadata"], "uid": uid}}


def listed(*pods: dict[str, Any]) -> Answer:
    return 200, [{"metadata": {}, "items": pods}]


@dataclass
class TinyCluster:
    """Gives the answers about the log in their order, and the last of them for ever."""

    logs: list[Answer]
    pods: Answer = field(default_factory=lambda: listed(the_pod()))
    secret: Answer = UNKNOWN
    asked: list[dict[str, str]] = field(default_factory=list)
    url: str = ""

    def answer(self, asked: Asked) -> Answer:
        if asked.path.endswith("/log"):
            self.asked.append(asked.params)
            return self.logs.pop(0) if len(self.logs) > 1 else self.logs[0]
        return self.secret if "/secrets/" in asked.path else self.pods


@asynccontextmanager
async def following(cluster: TinyCluster, folder: Path) -> AsyncIterator[tuple[Connection, PodLogs]]:
    with tiny_api_server(cluster.answer) as cluster.url:
        connection = connect(kubeconfig_for(cluster.url, folder))
        logs = PodLogs(folder / "spools", look_again_s=0.002)
        async with asyncio.timeout(60):
            yield connection, logs
            await logs.close()
        await connection.close()


async def collected(logs: PodLogs, folder: Path) -> bytes:
    target = folder / "kept" / "task.log"
    await logs.collect(REF, target)
    return target.read_bytes()


async def until_asked(cluster: TinyCluster, times: int) -> None:
    while len(cluster.asked) < times:
        await asyncio.sleep(0.01)


@pytest.mark.parametrize("has_ended", [False, True])
async def test_a_kubelet_that_does_not_know_the_pod_yet_is_asked_again(tmp_path: Path, has_ended: bool) -> None:
    cluster = TinyCluster([UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, (200, [ONE, TWO])])
    async with following(cluster, tmp_path) as (connection, logs):
        logs.seen(connection, the_pod())
        if has_ended:
            logs.ended(TASK)
        await until_asked(cluster, 5)
        logs.ended(TASK)
        assert await collected(logs, tmp_path) == b"one\ntwo\n"


@pytest.mark.parametrize("pods", [listed(), listed(the_pod("another"))])
async def test_the_log_of_a_pod_that_is_gone_is_complete(tmp_path: Path, pods: Answer) -> None:
    cluster = TinyCluster([(200, [ONE]), UNKNOWN], pods)
    async with following(cluster, tmp_path) as (connection, logs):
        logs.seen(connection, the_pod())
        assert await collected(logs, tmp_path) == b"one\n"


async def test_a_refusal_after_the_end_is_no_empty_log(tmp_path: Path) -> None:
    cluster = TinyCluster([REFUSED, REFUSED, (200, [ONE, TWO])])
    async with following(cluster, tmp_path) as (connection, logs):
        logs.seen(connection, the_pod())
        logs.ended(TASK)
        assert await collected(logs, tmp_path) == b"one\ntwo\n"


async def test_a_container_that_never_started_has_an_empty_log(tmp_path: Path) -> None:
    cluster = TinyCluster([REFUSED])
    async with following(cluster, tmp_path) as (connection, logs):
        logs.seen(connection, the_pod())
        logs.ended(TASK)
        assert await collected(logs, tmp_path) == b""


async def test_a_log_is_not_given_up_while_the_api_server_is_away(tmp_path: Path) -> None:
    cluster = TinyCluster([*[AWAY] * 40, (200, [ONE, TWO])], AWAY)
    async with following(cluster, tmp_path) as (connection, logs):
        logs.seen(connection, the_pod())
        logs.ended(TASK)
        assert await collected(logs, tmp_path) == b"one\ntwo\n"


async def test_a_node_that_never_answers_again_is_given_up(tmp_path: Path) -> None:
    cluster = TinyCluster([(200, [ONE]), AWAY])
    async with following(cluster, tmp_path) as (connection, logs):
        logs.seen(connection, the_pod())
        await until_asked(cluster, 2)
        assert await collected(logs, tmp_path) == b"one\n"


async def test_a_secret_that_is_deleted_while_the_task_runs_ends_no_log(tmp_path: Path) -> None:
    pod = the_pod()
    pod["metadata"]["labels"]["muster/gang"] = "j1.1"
    variable = {"name": "A", "valueFrom": {"secretKeyRef": {"name": "s", "key": secret_key("a")}}}
    pod["spec"]["containers"] = [{"name": "task", "env": [variable]}]
    secret = {"data": {secret_key("a"): b64encode(b"hunter2").decode()}}
    cluster = TinyCluster([(200, [ONE])], listed(pod), (200, [secret]))
    async with following(cluster, tmp_path) as (connection, logs):
        logs.seen(connection, pod)
        await until_asked(cluster, 2)
        cluster.secret = UNKNOWN
        cluster.logs.append((200, [ONE, TWO.replace(b"two", b"hunter2")]))
        await until_asked(cluster, len(cluster.asked) + 3)
        assert await collected(logs, tmp_path) == b"one\n*******\n"


async def test_a_log_waits_until_it_can_be_written(tmp_path: Path) -> None:
    cluster = TinyCluster([(200, [ONE, TWO])])
    async with following(cluster, tmp_path) as (connection, logs):
        logs.seen(connection, the_pod())
        (tmp_path / "spools").write_text("in the way of the folder")
        logs.ended(TASK)
        await until_asked(cluster, 5)
        (tmp_path / "spools").unlink()
        assert await collected(logs, tmp_path) == b"one\ntwo\n"


async def test_an_answer_that_brings_nothing_after_the_end_is_asked_for_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_following, "_SILENCE_S", 0.1)
    is_over = threading.Event()

    def hanging() -> Iterator[bytes]:
        yield ONE
        is_over.wait(60)

    cluster = TinyCluster([(200, hanging()), (200, [ONE, TWO])])
    async with following(cluster, tmp_path) as (connection, logs):
        logs.seen(connection, the_pod())
        await until_asked(cluster, 1)
        logs.ended(TASK)
        assert await collected(logs, tmp_path) == b"one\ntwo\n"
        is_over.set()


async def ended_and_paused(cluster: TinyCluster, connection: Connection, logs: PodLogs) -> None:
    """The task has ended, and the connection goes before the rest of its log has come."""
    logs.seen(connection, the_pod())
    await until_asked(cluster, 2)
    logs.ended(TASK)
    await logs.pause()


async def test_a_log_is_followed_on_over_the_next_connection(tmp_path: Path) -> None:
    cluster = TinyCluster([(200, [ONE]), AWAY])
    async with following(cluster, tmp_path) as (connection, logs):
        await ended_and_paused(cluster, connection, logs)
        await connection.close()
        cluster.logs = [(200, [ONE, TWO])]
        collecting = asyncio.create_task(collected(logs, tmp_path))
        another = connect(tmp_path / "kubeconfig")
        await asyncio.sleep(0)
        logs.seen(another, the_pod())
        assert await collecting == b"one\ntwo\n"
        await another.close()


async def test_the_log_of_a_pod_that_was_never_seen_again_is_what_came_of_it(tmp_path: Path) -> None:
    cluster = TinyCluster([(200, [ONE]), AWAY])
    async with following(cluster, tmp_path) as (connection, logs):
        await ended_and_paused(cluster, connection, logs)
        logs.ended(TASK)
        assert await collected(logs, tmp_path) == b"one\n"


async def test_an_end_that_only_the_caller_knows_lets_the_rest_of_the_log_come(tmp_path: Path) -> None:
    cluster = TinyCluster([AWAY, (200, [ONE, TWO])])
    async with following(cluster, tmp_path) as (connection, logs):
        logs.seen(connection, the_pod())
        assert await collected(logs, tmp_path) == b"one\ntwo\n"


async def test_a_kept_log_is_not_replaced_by_nothing(tmp_path: Path) -> None:
    cluster = TinyCluster([(200, [ONE])])
    async with following(cluster, tmp_path) as (connection, logs):
        logs.seen(connection, the_pod())
        assert await collected(logs, tmp_path) == b"one\n"
        (tmp_path / "spools" / f"{TASK}.log").unlink()
        with pytest.raises(FileNotFoundError):
            await collected(logs, tmp_path)
        assert (tmp_path / "kept" / "task.log").read_bytes() == b"one\n"


async def test_readers_wait_for_the_rest_of_a_log_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("muster.backends.kubernetes.logs._REST_WAIT_S", 0.0)
    cluster = TinyCluster([AWAY], AWAY)
    async with following(cluster, tmp_path) as (connection, logs):
        logs.seen(connection, the_pod())
        logs.ended(TASK)
        with pytest.raises(Unreachable, match="has not come yet"):
            await collected(logs, tmp_path)
