"""Blocks of ports for jobs with `intranet: Host`, over the life of jobs and of the operator."""

from typing import Any

import pytest

from muster.kubernetes.resources import HOST_PORT
from muster.operator.control.host_ports import HostPorts
from muster.operator.job.paddle_job import read_job
from muster.operator.job.ports import PortRange
from tests.unit.paddle_operator.building import job_object

pytestmark = pytest.mark.fast
TWO_BLOCKS = PortRange(35000, 35039)


class Jobs:
    """The jobs that exist, and an operator's ports for them."""

    def __init__(self) -> None:
        self.raw: dict[str, dict[str, Any]] = {}
        self.pods: dict[str, list[dict[str, Any]]] = {}
        self.ports = self.restarted()

    def restarted(self) -> HostPorts:
        """The ports of an operator that has just been started."""
        return HostPorts(TWO_BLOCKS, _Values(self.raw), lambda uid: self.pods.get(uid, []))

    def add(self, name: str, uid: str = "", block: str = "") -> int | None:
        raw = job_object(worker=1, name=name, intranet="Host")
        raw["metadata"] |= {"uid": uid or name, "annotations": {HOST_PORT: block} if block else {}}
        self.raw[name] = raw
        return self.block_of(name)

    def block_of(self, name: str) -> int | None:
        return self.ports.block_of(read_job(self.raw[name]))

    def end(self, name: str, pod_phase: str) -> None:
        self.raw[name]["status"] = {"phase": "Completed"}
        self.pods[name] = [{"status": {"phase": pod_phase}}]


class _Values:
    def __init__(self, of: dict[str, dict[str, Any]]) -> None:
        self._of = of

    def __iter__(self) -> Any:
        return iter(self._of.values())


def test_no_two_jobs_have_the_same_block_and_each_keeps_its_own() -> None:
    jobs = Jobs()
    assert [jobs.add("a"), jobs.add("b"), jobs.add("c")] == [35000, 35020, None]
    assert [jobs.block_of("a"), jobs.block_of("b")] == [35000, 35020]


def test_a_block_is_free_again_when_the_job_and_its_pods_have_ended() -> None:
    jobs = Jobs()
    jobs.add("a")
    jobs.add("b")
    jobs.end("a", "Running")
    assert jobs.add("c") is None, "a parameter server of the job still uses its ports"
    jobs.end("a", "Succeeded")
    assert jobs.block_of("c") == 35000


def test_a_job_that_is_gone_leaves_its_block_to_the_next_also_to_one_of_its_name() -> None:
    jobs = Jobs()
    jobs.add("a")
    jobs.add("b")
    del jobs.raw["a"]
    jobs.ports.forget(("lab", "a"))
    assert jobs.add("a", uid="other") == 35000


def test_after_a_restart_of_the_operator_the_annotations_tell() -> None:
    jobs = Jobs()
    jobs.add("a", block="35020")
    jobs.ports = jobs.restarted()
    assert (jobs.add("b"), jobs.block_of("a")) == (35000, 35020)
