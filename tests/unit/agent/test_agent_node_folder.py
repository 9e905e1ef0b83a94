"""On a node that shares no folder with the login node, a job uses nothing that somebody else could have put there."""

import json
import os
import socket
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from muster.agent.batch.link import Link
from muster.agent.batch.node_folder import NodeFolder, new_path
from muster.agent.batch.preparing import prepare
from muster.agent.batch.sealing import CLIENT, SERVER, Exchange, nonce
from muster.agent.batch.spool import Spool
from muster.agent.errors import START_FAILED, AgentError
from muster.agent.system.frames import encode

pytestmark = [pytest.mark.fast, pytest.mark.timeout(60)]
TASK = "job.1.worker.0"
ORDER: dict[str, Any] = {
    "id": TASK,
    "argv": ["/bin/sh", "-c", "ls; touch ran"],
    "env": {},
    "files": {},
    "links": {},
    "inputs": [],
    "package": None,
    "gpus": 0,
    "setup": None,
    "has_steps": False,
}


def test_its_name_cannot_be_known_before() -> None:
    assert new_path() != new_path()
    assert len(Path(new_path()).name) >= len("muster-") + 32


def test_only_this_account_can_enter_it(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        NodeFolder(str(tmp_path / "own"))
    finally:
        os.umask(before)
    assert (tmp_path / "own").stat().st_mode & 0o777 == 0o700


def _link(path: Path) -> None:
    (path.parent / "theirs").mkdir(0o700)
    path.symlink_to(path.parent / "theirs")


def _file(path: Path) -> None:
    path.write_text("")


def _open_to_all(path: Path) -> None:
    path.mkdir()
    path.chmod(0o777)


def _open_to_the_group(path: Path) -> None:
    path.mkdir()
    path.chmod(0o710)


OTHERS = [_link, _file, _open_to_all, _open_to_the_group]


@pytest.mark.parametrize("put", OTHERS)
def test_what_others_could_have_put_there_is_not_used(tmp_path: Path, put: Callable[[Path], None]) -> None:
    put(tmp_path / "found")
    with pytest.raises(AgentError, match="was there before") as refused:
        NodeFolder(str(tmp_path / "found"))
    assert refused.value.code == START_FAILED


def test_the_folder_of_another_account_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "found").mkdir(0o700)
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(AgentError, match=f"belongs to the account with the number {os.getuid()}"):
        NodeFolder(str(tmp_path / "found"))


def test_several_processes_share_it_and_the_last_one_removes_it(tmp_path: Path) -> None:
    path = tmp_path / "own"
    first, second = NodeFolder(str(path)), NodeFolder(str(path))
    (path / "blobs").mkdir()

    first.leave()
    assert (path / "blobs").is_dir()
    third = NodeFolder(str(path))
    second.leave()
    assert (path / "blobs").is_dir()
    third.leave()

    assert not path.exists()
    NodeFolder(str(path)).remove()
    assert not path.exists()


@pytest.mark.parametrize("put", OTHERS)
def test_a_runner_that_finds_such_a_folder_says_so_and_runs_nothing(
    tmp_path: Path, put: Callable[[Path], None]
) -> None:
    put(tmp_path / "found")

    told, code = _run(tmp_path / "found")

    (mark,) = [message for message in told if message["what"] == "mark"]
    assert (mark["task"], mark["name"], mark["mark"]["error"]) == (TASK, "end", START_FAILED)
    assert str(tmp_path / "found") in mark["mark"]["message"]
    assert code == 1
    assert not list(tmp_path.rglob("ran"))


def test_a_runner_leaves_nothing_on_its_node(tmp_path: Path) -> None:
    told, code = _run(tmp_path / "new")
    assert code == 0
    assert [message["name"] for message in told if message["what"] == "mark"] == ["begin", "end"]
    assert not (tmp_path / "new").exists()


def _run(root: Path) -> tuple[list[dict[str, Any]], int]:
    """A runner, and what it tells its coordinator."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        env = {"MUSTER_BATCH_TOKEN": "t", "MUSTER_BATCH_ADDRESSES": f"127.0.0.1,{server.getsockname()[1]}"}
        program = "from muster.agent.batch.runner import main; main()"
        argv = [sys.executable, "-c", program, "archive", "0"]
        with subprocess.Popen(argv, env={**os.environ, **env}) as runner:
            link = _sealed(server.accept()[0], "t")
            told: list[dict[str, Any]] = []
            while link.is_open:
                for message in link.receive():
                    told.append(message)
                    link.send(_answer(message, root))
            return told, runner.wait()


def _sealed(connection: socket.socket, token: str) -> Link:
    """The link, once both ends have proven that they know the token."""
    said, own = _object(connection), nonce()
    exchange = Exchange(token, said["key"], said["nonce"], own)
    connection.sendall(encode({"nonce": own, "proof": exchange.proof(SERVER)}))
    assert exchange.is_proof(CLIENT, _object(connection)["proof"])
    return Link(connection, sealing=exchange.sealing(SERVER))


def _object(connection: socket.socket) -> dict[str, Any]:
    """One message, and nothing of what comes after it."""
    (length,) = struct.unpack(">I", connection.recv(4, socket.MSG_WAITALL))
    found: dict[str, Any] = json.loads(connection.recv(length, socket.MSG_WAITALL))
    return found


def _answer(message: dict[str, Any], root: Path) -> dict[str, Any]:
    if message["what"] == "hello":
        return {"what": "task", "id": TASK, "ports": 0}
    if message["what"] == "ready":
        return {"what": "start", "root": str(root), "is_shared": False, "order": json.loads(json.dumps(ORDER))}
    return {"what": "answer"}


@pytest.mark.parametrize("is_link", [True, False])
def test_a_task_starts_in_a_working_directory_of_its_own(tmp_path: Path, is_link: bool) -> None:
    spool = Spool(str(tmp_path / "root"))
    gang = spool.gang_of(TASK)
    work = Path(gang.task_folder(TASK), "work")
    theirs = tmp_path / "theirs" if is_link else work
    theirs.mkdir(parents=True)
    (theirs / "run.sh").write_text("evil")
    if is_link:
        work.parent.mkdir(parents=True)
        work.symlink_to(theirs)

    prepared = prepare(ORDER, spool, gang)

    assert list(Path(prepared.work).iterdir()) == []
    assert not Path(prepared.work).is_symlink()
    assert (theirs / "run.sh").exists() == is_link
