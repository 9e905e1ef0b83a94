"""Archives that the server sends: received in pieces, checked, kept while they are needed."""

import gzip
import hashlib
import io
import os
import tarfile
import time
from pathlib import Path

import pytest

from muster.agent.files.blobs import JUST_USED_S, BlobStore
from tests.parts.server import polls

from .conftest import StartAgent
from .driver import Agent, Refused


def archive(**files: str) -> bytes:
    packed = io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb", mtime=0) as plain, tarfile.open(fileobj=plain, mode="w") as tar:
        for name, content in files.items():
            head = tarfile.TarInfo(name.replace("__", "/"))
            head.size, head.mode = len(content), 0o644
            tar.addfile(head, io.BytesIO(content.encode()))
    return packed.getvalue()


def digest_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def send(agent: Agent, data: bytes) -> str:
    digest = digest_of(data)
    agent.ask("blob_write", digest=digest, offset=0, data=data)
    agent.ask("blob_commit", digest=digest)
    return digest


def test_blob_arrives_in_pieces_and_a_piece_out_of_place_changes_nothing(agent: Agent) -> None:
    data, digest = b"a" * 10 + b"b" * 10, digest_of(b"a" * 10 + b"b" * 10)
    assert agent.ask("blob_stat", digest=digest, size=20)["size"] is None
    assert agent.ask("blob_write", digest=digest, offset=10, data=data[10:])["size"] == 0
    assert agent.ask("blob_write", digest=digest, offset=0, data=data[:10])["size"] == 10
    assert agent.ask("blob_write", digest=digest, offset=0, data=data[:10])["size"] == 10
    assert agent.ask("blob_write", digest=digest, offset=10, data=data[10:])["size"] == 20
    agent.ask("blob_commit", digest=digest)
    agent.ask("blob_commit", digest=digest)
    assert agent.ask("blob_stat", digest=digest, size=20)["complete"] is True
    assert (agent.root / "blobs" / digest).read_bytes() == data


def test_pieces_sent_without_waiting_are_written_in_the_order_sent(agent: Agent) -> None:
    pieces = [bytes([number]) * 5000 for number in range(60)]
    digest = digest_of(b"".join(pieces))
    for place, piece in enumerate(pieces):
        agent.send("blob_write", digest=digest, offset=place * 5000, data=piece)
    agent.read_until(lambda: len(agent._answers) == len(pieces), "all answers")
    agent.ask("blob_commit", digest=digest)
    assert (agent.root / "blobs" / digest).read_bytes() == b"".join(pieces)


def test_the_next_agent_goes_on_from_what_the_first_received(start_agent: StartAgent) -> None:
    data = os.urandom(1000)
    digest = digest_of(data)
    first = start_agent()
    first.ask("blob_write", digest=digest, offset=0, data=data[:400])
    first.kill()
    second = start_agent()
    assert second.ask("blob_stat", digest=digest, size=1000)["size"] == 400
    second.ask("blob_write", digest=digest, offset=400, data=data[400:])
    assert second.ask("blob_commit", digest=digest)["done"] is True


def test_wrong_content_is_refused_and_removed(agent: Agent) -> None:
    digest = digest_of(b"right")
    agent.ask("blob_write", digest=digest, offset=0, data=b"wrong")
    with pytest.raises(Refused) as refused:
        agent.ask("blob_commit", digest=digest)
    assert refused.value.code == "package"
    assert agent.ask("blob_stat", digest=digest, size=5) | {"id": 0} == {
        "id": 0,
        "ok": True,
        "size": None,
        "complete": False,
    }


@pytest.mark.parametrize("digest", ["", "x", "../../etc/passwd", "a" * 63, "A" * 64])
def test_a_blob_is_named_by_nothing_but_a_digest(agent: Agent, digest: str) -> None:
    for op in ("blob_stat", "blob_write", "blob_commit", "blob_drop"):
        with pytest.raises(Refused) as refused:
            agent.ask(op, digest=digest, offset=0, size=0, data="eA==")
        assert refused.value.code == "bad-request"


def test_a_task_runs_a_package_and_reads_inputs_that_were_sent(agent: Agent) -> None:
    package = send(agent, archive(main="code"))
    inputs = send(agent, archive(a="one", sub__b="two"))
    single = send(agent, archive(**{"rows.csv": "1,2"}))
    status = agent.run(
        "t1",
        "/bin/sh",
        "-c",
        "cat main data/train/a data/train/sub/b table.csv; touch data/train/new 2>/dev/null && id -u",
        package={"digest": package},
        inputs=[
            {"digest": inputs, "target": "./data/train/"},
            {"digest": single, "target": "table.csv", "member": "rows.csv"},
        ],
    )
    assert agent.log("t1").startswith(b"codeonetwo1,2")
    assert status["exit_code"] == 1 or os.getuid() == 0
    assert (agent.root / "tasks/t1/work/data/train").is_symlink()


def test_inputs_are_unpacked_once_for_all_tasks(agent: Agent) -> None:
    digest = send(agent, archive(a="one"))
    for task in ("t1", "t2"):
        agent.run(task, "/bin/cat", "in/a", inputs=[{"digest": digest, "target": "in"}])
        assert agent.log(task) == b"one"
    assert [path.name for path in (agent.root / "inputs").iterdir()] == [digest]


@pytest.mark.parametrize(
    "change",
    [
        "chmod u+w in/a; echo two > in/a; touch -r in/b in/a; chmod u-w in/a",
        "chmod u+w in/; rm -f in/a; ln -s b in/a",
        "chmod u+w in/; mv in/a in/c; mv in/b in/a; mv in/c in/b",
        "chmod u+w in/ in/sub; touch in/sub/new",
    ],
    ids=["content", "link", "swap", "more"],
)
def test_a_task_does_not_read_what_another_has_written_into_a_shared_input(agent: Agent, change: str) -> None:
    digest = send(agent, archive(a="one", b="six", sub__c="c"))
    needs = {"inputs": [{"digest": digest, "target": "in"}]}
    assert agent.run("t1", "/bin/sh", "-c", change, **needs)["exit_code"] == 0
    agent.run("t2", "/bin/sh", "-c", "cat in/a in/b; ls in/sub", **needs)
    assert agent.log("t2") == b"onesixc\n"
    assert "was changed on this node" in (agent.root / "agent.log").read_text()
    assert [path.name for path in (agent.root / "inputs").iterdir()] == [digest]


def test_a_changed_input_stays_for_the_task_that_has_it_open(agent: Agent) -> None:
    digest = send(agent, archive(a="one", b="six"))
    needs = {"inputs": [{"digest": digest, "target": "in"}]}
    wait = "cd -P in; chmod u+w . a; echo two > a; echo ready; sleep 60"
    agent.shell("t1", wait, **needs)
    agent.wait_phase("t1", "running")
    assert any(agent.log("t1") == b"ready\n" for _ in polls(60))
    agent.run("t2", "/bin/cat", "in/a", **needs)
    assert agent.log("t2") == b"one"
    (kept,) = [path for path in (agent.root / "inputs").iterdir() if path.name != digest]
    assert (kept / "b").read_text() == "six"
    agent.ask("stop", task="t1", grace_s=0)
    agent.wait_phase("t1", "ended")
    assert agent.ask("blob_drop", digest=digest)["dropped"] is True
    assert not list((agent.root / "inputs").iterdir())


@pytest.mark.parametrize("target", ["/etc", "../x", "a/../../x", "", ".", "a\0b"])
def test_an_input_is_linked_only_inside_the_working_folder(agent: Agent, target: str) -> None:
    digest = send(agent, archive(a="one"))
    with pytest.raises(Refused) as refused:
        agent.launch("t1", "/bin/true", inputs=[{"digest": digest, "target": target}])
    assert refused.value.code == "bad-request"


def test_an_input_does_not_go_through_a_link_of_the_package(agent: Agent, tmp_path: Path) -> None:
    packed = io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb") as plain, tarfile.open(fileobj=plain, mode="w") as tar:
        for name, kind, leads in (("real", tarfile.DIRTYPE, ""), ("link", tarfile.SYMTYPE, "real")):
            head = tarfile.TarInfo(name)
            head.type, head.linkname, head.mode = kind, leads, 0o755
            tar.addfile(head)
    package, digest = send(agent, packed.getvalue()), send(agent, archive(a="one"))
    status = agent.run("t1", "/bin/true", package={"digest": package}, inputs=[{"digest": digest, "target": "link/in"}])
    assert status["error"]["code"] == "package"


def test_what_was_never_sent_is_refused_before_anything_is_made(agent: Agent) -> None:
    with pytest.raises(Refused) as refused:
        agent.launch("t1", "/bin/true", package={"digest": "0" * 64})
    assert refused.value.code == "not-shipped"
    assert not (agent.root / "tasks/t1").exists()


def test_a_blob_of_a_live_task_is_not_dropped(agent: Agent) -> None:
    digest = send(agent, archive(a="one"))
    agent.shell("t1", "sleep 60", inputs=[{"digest": digest, "target": "in"}])
    agent.wait_phase("t1", "running")
    assert agent.ask("blob_drop", digest=digest)["dropped"] is False
    agent.ask("stop", task="t1", grace_s=0)
    agent.wait_phase("t1", "ended")
    assert agent.ask("blob_drop", digest=digest)["dropped"] is True
    assert not list((agent.root / "blobs").iterdir())
    assert not list((agent.root / "inputs").iterdir())


def test_what_the_disk_cannot_hold_is_refused_before_it_fills_it(agent: Agent) -> None:
    digest = "a" * 64
    agent.ask("blob_write", digest=digest, offset=0, data=b"begun")
    with pytest.raises(Refused) as refused:
        agent.ask("blob_stat", digest=digest, size=1 << 49)
    assert refused.value.code == "disk-full"
    assert list((agent.root / "blobs").iterdir()) == []


def test_the_least_used_blobs_go_when_the_store_is_full(tmp_path: Path) -> None:
    store = BlobStore(str(tmp_path), set, limit_bytes=250, share=1.0)
    names = [character * 64 for character in "abc"]
    for age, name in enumerate(names):
        path = tmp_path / "blobs" / name
        path.write_bytes(b"x" * 100)
        used_at = time.time() - 10 * JUST_USED_S + age
        os.utime(path, (used_at, used_at))
    store.make_room(50, {names[0]})
    assert sorted(path.name for path in (tmp_path / "blobs").iterdir()) == [names[0], names[2]]


def test_what_was_just_used_stays_although_the_store_is_full(tmp_path: Path) -> None:
    store = BlobStore(str(tmp_path), set, limit_bytes=10, share=1.0)
    (tmp_path / "blobs" / ("a" * 64)).write_bytes(b"x" * 100)
    store.make_room(50, set())
    assert (tmp_path / "blobs" / ("a" * 64)).exists()
