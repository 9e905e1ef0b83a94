"""The connection and its cache, towards an API server that answers as the test says: a tiny HTTP server."""

import asyncio
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from muster.domain.errors import Invalid, Unreachable
from muster.kubernetes.connection import Connection, connect
from muster.kubernetes.errors import Denied, Exists, Missing, Outdated, Refused
from muster.kubernetes.resources import PODS, key_of
from muster.kubernetes.watched import Change, Watched
from tests.parts.tiny_api_server import Answer, Asked, kubeconfig_for, tiny_api_server

pytestmark = pytest.mark.fast


@dataclass
class TinyApiServer:
    """Gives the answers in their order; then it is out of order."""

    url: str = ""
    answers: list[Answer] = field(default_factory=list)
    asked: list[tuple[str, dict[str, str]]] = field(default_factory=list)

    def answer(self, asked: Asked) -> Answer:
        self.asked.append((asked.path, asked.params))
        return self.answers.pop(0) if self.answers else (503, [{"message": "no more answers"}])


@pytest.fixture
def api() -> Iterator[TinyApiServer]:
    tiny = TinyApiServer()
    with tiny_api_server(tiny.answer) as tiny.url:
        yield tiny


@pytest.fixture
def kubeconfig(api: TinyApiServer, tmp_path: Path) -> Path:
    return kubeconfig_for(api.url, tmp_path)


def pod(name: str, version: int, **status: str) -> dict[str, Any]:
    metadata = {"namespace": "lab", "name": name, "resourceVersion": str(version)}
    return {"metadata": metadata, "status": status}


def listing(version: int, *pods: dict[str, Any], **more: str) -> Answer:
    return 200, [{"metadata": {"resourceVersion": str(version), **more}, "items": pods}]


def events(*events: tuple[str, dict[str, Any]]) -> Answer:
    return 200, [{"type": kind, "object": one} for kind, one in events]


async def until_asked(api: TinyApiServer, cache: Watched, times: int) -> None:
    """Follow until the server has been asked so often, and the answers have arrived."""
    following = asyncio.create_task(cache.run())
    async with asyncio.timeout(60):
        while len(api.asked) < times:
            await asyncio.sleep(0.01)
    following.cancel()
    await asyncio.wait([following])


def run_cache(api: TinyApiServer, kubeconfig: Path, times: int) -> tuple[Watched, list[Change]]:
    changes: list[Change] = []

    async def run() -> Watched:
        connection = connect(kubeconfig)
        cache = Watched(connection, PODS, changed=changes.append, group=lambda one: one["status"].get("phase", ""))
        await until_asked(api, cache, times)
        await connection.close()
        return cache

    return asyncio.run(run()), changes


def names(cache: Watched) -> dict[str, str]:
    return {key_of(one)[1]: str(one["metadata"]["resourceVersion"]) for one in cache}


def test_a_watch_continues_from_the_last_event_or_bookmark(api: TinyApiServer, kubeconfig: Path) -> None:
    api.answers = [
        listing(10, pod("a", 5)),
        events(("ADDED", pod("b", 11)), ("BOOKMARK", {"metadata": {"resourceVersion": "20"}})),
        events(("MODIFIED", pod("a", 21, phase="Running")), ("DELETED", pod("b", 22))),
    ]
    cache, changes = run_cache(api, kubeconfig, 4)
    assert names(cache) == {"a": "21"}
    assert [asked.get("resourceVersion") for _, asked in api.asked] == [None, "10", "20", "22"]
    assert all(asked["allowWatchBookmarks"] == "true" for _, asked in api.asked[1:])
    assert [key_of(one)[1] for one in cache.of("Running")] == ["a"]
    assert [(change.before is None, change.after is None) for change in changes] == [
        (True, False),
        (True, False),
        (False, False),
        (False, True),
    ]


def test_an_error_of_whoever_takes_an_answer_is_not_one_of_the_connection(api: TinyApiServer, kubeconfig: Path) -> None:
    async def run() -> None:
        connection = connect(kubeconfig)
        async with connection.streaming("/log") as chunks:
            async for _ in chunks:
                raise FileNotFoundError("the folder")
        await connection.close()

    api.answers = [(200, [b"one"])]
    with pytest.raises(FileNotFoundError, match="the folder"):
        asyncio.run(run())


@pytest.mark.parametrize(
    "expired", [(410, [{"reason": "Expired"}]), (200, [{"type": "ERROR", "object": {"code": 410, "message": "old"}}])]
)
def test_an_expired_version_is_listed_again_and_differences_are_reported(
    api: TinyApiServer, kubeconfig: Path, expired: Answer
) -> None:
    api.answers = [listing(10, pod("a", 5), pod("b", 6)), expired, listing(30, pod("b", 6), pod("c", 25))]
    cache, changes = run_cache(api, kubeconfig, 4)
    assert names(cache) == {"b": "6", "c": "25"}
    reported = [(key_of(change.object)[1], change.after is None) for change in changes]
    assert reported == [("a", False), ("b", False), ("c", False), ("a", True)]


def test_a_server_that_is_away_for_a_while_is_asked_again(api: TinyApiServer, kubeconfig: Path) -> None:
    away: Answer = (503, [{"message": "starting"}])
    api.answers = [away, listing(10, pod("a", 5)), away, away, events(("ADDED", pod("b", 12)))]
    cache, _ = run_cache(api, kubeconfig, 6)
    assert names(cache) == {"a": "5", "b": "12"}
    assert [asked.get("resourceVersion") for _, asked in api.asked] == [None, None, "10", "10", "10", "12"]


def test_a_missing_right_is_told_without_the_name_of_the_account(api: TinyApiServer, kubeconfig: Path) -> None:
    denied = {"reason": "Forbidden", "message": 'pods is forbidden: User "somebody" cannot list resource "pods"'}
    api.answers = [(403, [denied]), (403, [denied])]
    cache, _ = run_cache(api, kubeconfig, 2)
    assert cache.problem == "the account may not list pods of all namespaces"


def test_pages_are_joined(api: TinyApiServer, kubeconfig: Path) -> None:
    api.answers = [listing(10, pod("a", 5), **{"continue": "next"}), listing(10, pod("b", 6))]
    cache, _ = run_cache(api, kubeconfig, 3)
    assert names(cache) == {"a": "5", "b": "6"}
    assert api.asked[1][1]["continue"] == "next"


def test_an_own_write_is_known_at_once_and_never_replaced_by_an_older_event(
    api: TinyApiServer, kubeconfig: Path
) -> None:
    api.answers = [listing(10), events(("ADDED", pod("a", 11)), ("MODIFIED", pod("a", 13)))]
    changes: list[Change] = []

    async def run() -> Watched:
        connection = connect(kubeconfig)
        cache = Watched(connection, PODS, changed=changes.append)
        cache.remember(pod("a", 12))
        await until_asked(api, cache, 3)
        await connection.close()
        return cache

    cache = asyncio.run(run())
    assert names(cache) == {"a": "13"}
    versions = [change.object["metadata"]["resourceVersion"] for change in changes]
    assert versions == ["12", "13"]


def test_an_answer_that_comes_after_the_end_of_its_object_does_not_bring_it_back(
    api: TinyApiServer, kubeconfig: Path
) -> None:
    api.answers = [listing(10, pod("a", 5)), events(("MODIFIED", pod("a", 11)), ("DELETED", pod("a", 12)))]

    async def run() -> Watched:
        connection = connect(kubeconfig)
        cache = Watched(connection, PODS)
        await until_asked(api, cache, 3)
        await connection.close()
        return cache

    cache = asyncio.run(run())
    cache.remember(pod("a", 11))
    assert names(cache) == {}
    cache.remember(pod("a", 14))
    assert names(cache) == {"a": "14"}


def test_an_object_outlives_the_report_that_an_earlier_one_of_its_name_is_gone(
    api: TinyApiServer, kubeconfig: Path
) -> None:
    api.answers = [listing(10), events(("DELETED", pod("a", 11)), ("ADDED", pod("b", 12)))]
    changes: list[Change] = []

    async def run() -> Watched:
        connection = connect(kubeconfig)
        cache = Watched(connection, PODS, changed=changes.append)
        cache.remember(pod("a", 13))
        await until_asked(api, cache, 3)
        await connection.close()
        return cache

    assert names(asyncio.run(run())) == {"a": "13", "b": "12"}
    assert all(change.after is not None for change in changes)


async def get_answer(kubeconfig: Path) -> object:
    connection: Connection = connect(kubeconfig)
    try:
        return await connection.get(PODS, "a", "lab")
    finally:
        await connection.close()


@pytest.mark.parametrize(
    ("status", "reason", "error"),
    [
        (404, "NotFound", Missing),
        (409, "AlreadyExists", Exists),
        (409, "Conflict", Outdated),
        (403, "Forbidden", Denied),
        (401, "Unauthorized", Denied),
        (422, "Invalid", Refused),
        (429, "TooManyRequests", Unreachable),
        (500, "InternalError", Unreachable),
    ],
)
def test_each_refusal_is_the_error_that_its_caller_reacts_to(
    api: TinyApiServer, kubeconfig: Path, status: int, reason: str, error: type[Exception]
) -> None:
    api.answers = [(status, [{"reason": reason, "message": "the words of the server"}])]
    with pytest.raises(error, match="the words of the server") as caught:
        asyncio.run(get_answer(kubeconfig))
    assert type(caught.value) is error


def test_nobody_listening_is_unreachable(kubeconfig: Path) -> None:
    config = json.loads(kubeconfig.read_text())
    config["clusters"][0]["cluster"]["server"] = "http://127.0.0.1:1"
    kubeconfig.write_text(json.dumps(config))
    with pytest.raises(Unreachable):
        asyncio.run(get_answer(kubeconfig))


def test_the_namespace_is_that_of_the_context(kubeconfig: Path) -> None:
    assert connect(kubeconfig).namespace == "lab"
    assert connect(kubeconfig, "other").namespace == "default"


def test_a_kubeconfig_that_cannot_be_used_is_invalid(kubeconfig: Path, tmp_path: Path) -> None:
    with pytest.raises(Invalid, match="not found"):
        connect(kubeconfig, "unknown")
    with pytest.raises(Invalid, match="not found"):
        connect(tmp_path / "missing")
    kubeconfig.write_text("[1, 2]")
    with pytest.raises(Invalid):
        connect(kubeconfig)
