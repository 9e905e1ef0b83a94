"""Files through a real agent: large folders, uploads that outlive the agent, long work that lets others through."""

import hashlib
import os
from pathlib import Path
from typing import Any

import pytest

from muster.agent.system.frames import Message

from .conftest import StartAgent
from .driver import Agent, Refused

UPLOAD = "upload00"


@pytest.fixture
def shown(tmp_path: Path) -> Path:
    folder = tmp_path / "shown"
    folder.mkdir()
    return folder


def whole(agent: Agent, op: str, **fields: Any) -> Message:
    while True:
        answer = agent.ask(op, run="run00000", **fields)
        if answer["done"]:
            return answer


def write(agent: Agent, root: Path, path: str, offset: int, data: bytes) -> Message:
    return agent.ask("fs_write", root=str(root), path=path, upload=UPLOAD, offset=offset, data=data)


def test_a_very_large_folder_is_listed_and_removed(agent: Agent, shown: Path) -> None:
    count = 20_000
    (shown / "many").mkdir()
    for number in range(count):
        os.close(os.open(shown / "many" / f"file-{number:06}", os.O_CREAT | os.O_WRONLY))
    names: list[str] = []
    after: str | None = ""
    while after is not None:
        page = agent.ask("fs_list", root=str(shown), path="many", limit=5000, after=after)
        names += [entry["name"] for entry in page["entries"]]
        after = page["next"]
    assert names == [f"file-{number:06}" for number in range(count)]
    assert whole(agent, "fs_usage", root=str(shown), path="many")["files"] == count
    assert whole(agent, "fs_remove", root=str(shown), path="many", recursive=True)["files"] == count
    assert list(shown.iterdir()) == []


def test_an_upload_goes_on_with_the_next_agent(start_agent: StartAgent, shown: Path) -> None:
    data = os.urandom(3 << 20)
    first = start_agent()
    write(first, shown, "file", 0, data[: 1 << 20])
    first.kill()
    second = start_agent()
    received = second.ask("fs_received", root=str(shown), path="file", upload=UPLOAD)["size"]
    assert received == 1 << 20
    part = whole(second, "fs_digest", root=str(shown), path="file", upload=UPLOAD)["sha256"]
    assert part == hashlib.sha256(data[:received]).hexdigest()
    write(second, shown, "file", received, data[received:])
    digest = hashlib.sha256(data).hexdigest()
    whole(second, "fs_commit", root=str(shown), path="file", upload=UPLOAD, size=len(data), sha256=digest)
    assert (shown / "file").read_bytes() == data


def test_long_copies_let_others_through(agent: Agent, shown: Path) -> None:
    """More of them than the agent has threads."""
    (shown / "big").write_bytes(bytes(64 << 20))
    numbers = [
        agent.send(
            "fs_copy", root=str(shown), path="big", to_root=str(shown), to_path=f"copy{number}", run=f"run0000{number}"
        )
        for number in range(6)
    ]
    assert agent.ask("ping")["ok"]
    assert agent.ask("fs_stat", root=str(shown), path="big")["size"] == 64 << 20
    for place, number in enumerate(numbers):
        fields: dict[str, Any] = {"to_root": str(shown), "to_path": f"copy{place}", "run": f"run0000{place}"}
        done = agent.answer(number)["done"]
        while not done:
            done = agent.ask("fs_copy", root=str(shown), path="big", **fields)["done"]
        assert (shown / f"copy{place}").stat().st_size == 64 << 20


@pytest.mark.parametrize("path", ["../x", "door", "door/x"])
def test_a_refusal_says_that_the_path_leads_out_and_nothing_of_the_root(agent: Agent, shown: Path, path: str) -> None:
    (shown / "door").symlink_to("/etc")
    with pytest.raises(Refused) as refused:
        agent.ask("fs_list", root=str(shown), path=path, limit=10)
    assert refused.value.code == "outside"
    assert str(shown) not in str(refused.value)


@pytest.mark.parametrize(
    "fields",
    [
        {"path": None},
        {"path": 7},
        {"root": "relative"},
        {"root": "/x\0y"},
        {"path": "\ud800"},
        {"limit": 0},
        {"limit": 1_000_000},
        {"after": 3},
    ],
)
def test_a_request_that_makes_no_sense_is_refused(agent: Agent, shown: Path, fields: dict[str, Any]) -> None:
    with pytest.raises(Refused) as refused:
        agent.ask("fs_list", **{"root": str(shown), "path": "", "limit": 10, **fields})
    assert refused.value.code == "bad-request"
