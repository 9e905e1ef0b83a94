"""Outputs of a pod: the program that is sent there, as a real process, and answers of pods that lie."""

import asyncio
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from muster.agent.system.frames import FrameDecoder, Message, encode
from muster.backends.kubernetes import pod_link
from muster.backends.kubernetes.pod_link import PodLink
from muster.backends.kubernetes.pod_program import COMMAND, program
from muster.backends.kubernetes.spec_support import cannot_honour
from muster.backends.kubernetes.task_outputs import collected_over, overdue
from muster.domain.clusters import PhysicalCluster
from muster.domain.errors import BackendError, Unreachable
from muster.domain.specs import JobSpec, Role
from muster.kubernetes.pod_commands import STDOUT, PodOutput
from muster.ports.capabilities import Collected, TaskRef
from tests.unit.backends.kubernetes.building import LATER_AT, OPTIONS, TASK, a_launch, a_pod, ended, objects_of

pytestmark = pytest.mark.fast
SPEC = JobSpec("train", (Role("worker", 1, ("true",)),), outputs=("model/",))


def asked(work: Path, *requests: Message) -> list[Message]:
    """What the program answers, run as in a pod: without anything of Muster installed."""
    sent = program(str(work)) + b"".join(encode(request) for request in requests)
    done = subprocess.run(COMMAND, input=sent, capture_output=True, check=True, timeout=60, cwd="/")
    assert not done.stderr
    return FrameDecoder().feed(done.stdout)


def test_the_program_lists_and_reads_without_muster_being_installed(tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "w").write_bytes(b"0123456789")
    (tmp_path / "model" / "out").symlink_to("/etc/passwd")
    (listed,) = asked(tmp_path, {"op": "outputs_list", "task": TASK, "patterns": ["model/"]})
    (file,) = listed["files"]
    assert (file["path"], file["size"]) == ("model/w", 10)
    read = {"op": "outputs_read", "task": TASK, "limit": 4}
    answers = asked(
        tmp_path,
        {**read, "path": "model/w", "offset": 6, "version": file["version"]},
        {**read, "path": "model/out", "offset": 0},
        {**read, "path": "../x", "offset": 0},
        {"op": "remove"},
    )
    assert answers[0]["data"] == b"6789"
    assert [sorted(answer) for answer in answers[1:]] == [["error", "message"]] * 3


def test_nothing_of_the_request_is_in_the_arguments() -> None:
    assert all(len(word) < 100 for word in COMMAND)


class LyingPod:
    """Implements what `PodLink` needs of a command; answers as the test says, again and again."""

    def __init__(self, answer: Mapping[str, Any] | bytes) -> None:
        self._answer = answer if isinstance(answer, bytes) else encode(answer)
        self._asked: asyncio.Queue[None] = asyncio.Queue()

    async def send(self, data: bytes) -> None:
        self._asked.put_nowait(None)

    async def receive(self) -> PodOutput:
        await self._asked.get()
        return PodOutput(STDOUT, self._answer)


def collected(answer: Mapping[str, Any] | bytes, target: Path) -> Collected:
    async def act() -> Collected:
        link = PodLink(LyingPod(answer))  # type: ignore[arg-type]
        reading = asyncio.create_task(link.read())
        try:
            async with asyncio.timeout(60):
                return await collected_over(link, TASK, ["model/"], target, lambda _: True)
        finally:
            reading.cancel()

    return asyncio.run(act())


def a_file(**changes: Any) -> dict[str, Any]:
    return {"path": "model/w", "size": 3, "mtime": 1.0, "version": "v", **changes}


def a_page(*files: Any, **changes: Any) -> dict[str, Any]:
    return {"files": list(files), "more": False, "skipped": 0, "too_deep": 0, **changes}


@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"files": "many"},
        a_page("model/w"),
        a_page(a_file(size=-1)),
        a_page(a_file(size=True)),
        a_page(a_file(size="3")),
        a_page(a_file(mtime=float("inf"))),
        a_page(a_file(mtime=float("nan"))),
        a_page(a_file(mtime=1e300)),
        a_page(a_file(path="\ud800")),
        a_page(a_file(path=7)),
        a_page(skipped=-1),
        a_page(*([a_file()] * 501)),
        a_page(a_file(path="../x"), more=True),
        {"error": "system", "message": "no"},
        b"\x7f\xff\xff\xff",
        b"\x00\x00\x00\x02no",
    ],
)
def test_a_pod_that_lies_about_its_outputs_is_refused(answer: Any, tmp_path: Path) -> None:
    with pytest.raises(BackendError):
        collected(answer, tmp_path / "target")
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_a_name_that_leads_out_is_left_out(tmp_path: Path) -> None:
    found = collected(a_page(a_file(path="../x"), a_file(path="/etc/x")), tmp_path / "target")
    assert (found.files, found.left_out) == ((), ("../x", "/etc/x"))


def test_a_pod_that_sends_more_than_was_asked_for_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BackendError):
        collected({**a_page(a_file(size=3)), "data": b"x" * 4096}, tmp_path / "target")


def test_an_answer_to_nothing_ends_the_link(tmp_path: Path) -> None:
    with pytest.raises(BackendError):
        collected(encode(a_page(a_file())) * 3, tmp_path / "target")


def test_a_silent_pod_is_not_waited_for_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pod_link, "_ANSWER_S", 0.01)
    with pytest.raises(Unreachable):
        collected(b"", tmp_path / "target")


def test_only_pods_of_jobs_with_outputs_stay_after_the_end() -> None:
    for spec, names in ((SPEC, ["task", "outputs"]), (JobSpec("train", SPEC.roles), ["task"])):
        (pod,) = objects_of(a_launch(spec)).pods({"uid": "1"}).values()
        assert [one["name"] for one in pod["spec"]["containers"]] == names


def test_the_container_that_stays_sees_the_working_directory_alone_and_cannot_write_there() -> None:
    (pod,) = objects_of(a_launch(SPEC)).pods({"uid": "1"}).values()
    keeper = pod["spec"]["containers"][1]
    assert keeper["volumeMounts"] == [{"name": "work", "mountPath": "/muster/work", "readOnly": True}]
    assert "env" not in keeper


def test_a_pod_is_given_up_when_its_outputs_could_not_be_collected_for_a_day() -> None:
    pod = a_pod(ended(0))
    assert not list(overdue([pod], LATER_AT + 90_000)), "it has no outputs"
    pod["spec"]["containers"] = [{"name": "task"}, {"name": "outputs"}]
    assert not list(overdue([pod, {**pod, "status": {}}], LATER_AT + 3600))
    assert list(overdue([pod], LATER_AT + 90_000)) == [TaskRef(TASK, "ml/muster-j1-1-worker-0")]


def test_outputs_are_refused_where_the_account_may_not_collect_them() -> None:
    cluster = PhysicalCluster("k8s", "kubernetes", options=OPTIONS)
    (problem,) = cannot_honour(SPEC, cluster, OPTIONS, may_execute=False)
    assert (problem.path, "pods/exec" in problem.message) == ("outputs", True)
    assert not list(cannot_honour(SPEC, cluster, OPTIONS))
