"""Parts of paddlecloud's API that need no server: forms, paths and published addresses."""

import asyncio
import re
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.api.pod_phases import PHASES
from muster.domain.errors import Forbidden, Invalid, MusterError
from muster.domain.failures.faults import Fault, FaultKind
from muster.domain.jobs import Failed, Job
from muster.domain.tasks import TASK_STATES, TaskFailed, TaskStopped, TaskSucceeded
from muster.server.compatibility.paddlecloud.kube_views import job_object, pod_name
from muster.server.compatibility.paddlecloud.multipart import boundary_of, parts_of
from muster.server.compatibility.paddlecloud.own_jobs import trainers
from muster.server.compatibility.paddlecloud.pfs_paths import parsed
from muster.server.compatibility.paddlecloud.publish import Publication, opened
from tests.parts.building import a_job, a_ps_spec, tasks_of

pytestmark = pytest.mark.fast
KEY = b"key"
PUBLISHED = Publication("id", "me", "/pfs/lab/home/me/x", 1000)


async def _in_pieces(body: bytes, size: int) -> AsyncIterator[bytes]:
    for start in range(0, len(body), size):
        yield body[start : start + size]
        yield b""


async def _read(body: bytes, size: int) -> list[tuple[str, str, bytes]]:
    found = []
    async for part in parts_of(b"bnd", _in_pieces(body, size)):
        found.append((part.name, part.filename, b"".join([piece async for piece in part.content])))
    return found


@given(
    st.lists(st.tuples(st.sampled_from(["file", "chunk"]), st.binary(max_size=40)), min_size=1, max_size=3),
    st.integers(1, 50),
)
def test_parts_are_the_same_in_whatever_pieces_they_arrive(parts: list[tuple[str, bytes]], size: int) -> None:
    parts = [(name, data.replace(b"--bnd", b"")) for name, data in parts]
    body = b"".join(
        b'--bnd\r\nContent-Disposition: form-data; name="%s"; filename="a=1&b=2"\r\n\r\n%s\r\n' % (name.encode(), data)
        for name, data in parts
    )
    found = asyncio.run(_read(body + b"--bnd--\r\n", size))
    assert found == [(name, "a=1&b=2", data) for name, data in parts]


@pytest.mark.parametrize(
    "body",
    [b"", b"--bnd", b"--other\r\n\r\n", b"--bnd\r\nA: b", b"--bnd\r\n\r\nhalf", b"--bnd\r\n\r\nx\r\n--bndX", b"-" * 99],
)
def test_a_form_that_is_broken_is_refused(body: bytes) -> None:
    with pytest.raises(Invalid):
        asyncio.run(_read(body, 7))


def test_a_header_without_end_is_not_held_for_ever() -> None:
    with pytest.raises(Invalid, match="too long"):
        asyncio.run(_read(b"--bnd\r\n" + b"x" * (1 << 20), 4096))


def test_the_boundary_is_read_as_go_and_others_write_it() -> None:
    assert boundary_of("multipart/form-data; boundary=abc") == b"abc"
    assert boundary_of('multipart/form-data; charset=x; boundary="a b"') == b"a b"
    for wrong in ("", "application/json", "multipart/form-data"):
        with pytest.raises(Invalid):
            boundary_of(wrong)


@pytest.mark.parametrize(
    ("path", "folder", "rest"),
    [
        ("/pfs/lab/home/me", "home/me", ""),
        ("/pfs/lab/home/me/", "home/me", ""),
        (" /pfs//lab/home/./me/a//b ", "home/me/a/b", "a/b"),
        ("/pfs/lab/public", "public", ""),
        ("/pfs/lab/public/a", "public/a", "a"),
    ],
)
def test_a_path_is_a_place_in_the_folder_home_or_public(path: str, folder: str, rest: str) -> None:
    found = parsed(path, "me")
    assert (found.address.cluster, found.address.path, found.rest) == ("lab", folder, rest)


@given(st.lists(st.sampled_from(["pfs", "lab", "home", "public", "me", "you", "..", ".", "", "a\0"]), max_size=8))
def test_no_path_leads_elsewhere(parts: list[str]) -> None:
    try:
        path = parsed("/" + "/".join(parts), "me").address.path
    except MusterError:
        return
    assert path.startswith(("home/me/", "public/")) or path in ("home/me", "public")
    assert ".." not in path.split("/")


@pytest.mark.parametrize("path", ["/pfs/lab/public/a", "/pfs/lab/home/you/a", "/pfs/lab/home/me/../you"])
def test_what_is_public_or_of_others_is_not_changed(path: str) -> None:
    with pytest.raises(Forbidden):
        parsed(path, "me", changing=True)


def test_a_published_address_is_good_until_it_ends_and_only_as_it_was_signed() -> None:
    sealed = PUBLISHED.sealed(KEY)
    assert opened(sealed, KEY, 999.0) == PUBLISHED
    body, _, signature = sealed.partition(".")
    longer = Publication("id", "me", "/pfs/lab/home/me/x", 2000).sealed(KEY).partition(".")[0]
    for wrong, now in ((sealed, 1000.0), (f"{longer}.{signature}", 1.0), (body, 1.0), ("", 1.0), ("é.é", 1.0)):
        with pytest.raises(Forbidden):
            opened(wrong, KEY, now)
    with pytest.raises(Forbidden):
        opened(sealed, b"another", 1.0)


def test_every_state_of_a_task_is_a_phase_of_a_pod() -> None:
    assert set(PHASES) == set(TASK_STATES)


FAULT = Fault(FaultKind.USER, "exit", "It failed.")


def _failed_job() -> Job:
    return replace(a_job(a_ps_spec(1, 2)), state=Failed(5.0, FAULT))


def test_a_trainer_that_was_stopped_because_another_failed_is_not_counted_as_failed() -> None:
    tasks = tasks_of(_failed_job(), TaskStopped(5.0), TaskFailed(4.0, FAULT), TaskStopped(5.0))
    assert job_object(_failed_job(), trainers(tasks))["status"]["failed"] == 1


def test_a_job_whose_parameter_server_failed_has_failed_trainers() -> None:
    tasks = tasks_of(_failed_job(), TaskFailed(4.0, FAULT), TaskStopped(5.0), TaskStopped(5.0))
    status = job_object(_failed_job(), trainers(tasks))["status"]
    assert (status["failed"], status["active"], status["completion_time"]) == (2, None, None)


def test_a_pod_has_the_same_name_whenever_it_is_asked_for_and_no_two_have_the_same() -> None:
    job = a_job(a_ps_spec(2, 40))
    tasks = tasks_of(job, *[TaskSucceeded(1.0)] * 42)
    names = [pod_name(job, task) for task in tasks]
    assert names == [pod_name(job, task) for task in tasks]
    assert len(set(names)) == 42
    assert all(re.fullmatch(r"job-(trainer|pserver)-[bcdfghjklmnpqrstvwxz2456789]{5}", name) for name in names)
