"""What exists of a job, from the caches and from what was asked for a moment ago."""

from collections.abc import Callable, Iterator
from dataclasses import replace

from muster.kubernetes.resources import Key, annotations_of, key_of, owner_uid, uid_of
from muster.lib.clock import Clock
from muster.operator.control.caches import Caches
from muster.operator.control.host_ports import HostPorts
from muster.operator.control.memory import JobMemory
from muster.operator.job.environment import PEERS
from muster.operator.job.paddle_job import Intranet, PaddleJob
from muster.operator.job.phases import ENDED, phase_of
from muster.operator.job.pod_states import PodView, read_pod
from muster.operator.job.ports import PortRange
from muster.operator.job.world import World

_LEAVING_S = 30.0


class Observer:
    """`is_deleted` says whether the deletion of the object with a uid was asked for, although no watch reported it."""

    def __init__(self, caches: Caches, ports: PortRange, is_deleted: Callable[[str], bool], clock: Clock) -> None:
        self._caches, self._ports, self._is_deleted, self._clock = caches, ports, is_deleted, clock
        self._host_ports = HostPorts(ports, caches.jobs, caches.pods.of)

    def world(self, job: PaddleJob, memory: JobMemory) -> World:
        services = {
            key_of(one)[1]: uid_of(one)
            for one in self._caches.services.of(job.uid)
            if "deletionTimestamp" not in one["metadata"]
        }
        config = next((one for one in self._caches.config_maps.of(job.uid) if key_of(one)[1] == job.name), None)
        world = World(
            pods=tuple(self._pods(job)),
            services=services,
            config=None if config is None else config.get("data") or {},
            config_peers="" if config is None else annotations_of(config).get(PEERS, ""),
            foreign=memory.foreign,
            earlier=self._earlier(job),
            refusal=memory.refusal,
            is_held=self._clock() < memory.retry_at,
        )
        if job.intranet is not Intranet.HOST or phase_of(job) in ENDED:
            return world
        block = self._host_ports.block_of(job)
        if block is None:
            taken = f"all ports from {self._ports.first} to {self._ports.last} are taken"
            return replace(world, refusal=taken, is_held=True)
        return replace(world, first_port=block)

    def forget(self, key: Key) -> None:
        """The job is gone."""
        self._host_ports.forget(key)

    def _pods(self, job: PaddleJob) -> Iterator[PodView]:
        now = self._clock()
        for raw in self._caches.pods.of(job.uid):
            pod = read_pod(raw)
            if pod is None:
                continue
            if not pod.is_leaving and self._is_deleted(pod.uid):
                pod = replace(pod, leaves_at=now + _LEAVING_S)  # the watch has not reported it yet
            yield pod

    def _earlier(self, job: PaddleJob) -> frozenset[str]:
        """The names that pods and services of an earlier job of this name still have."""
        return frozenset(
            name
            for name in job.pod_names
            for cache in (self._caches.pods, self._caches.services)
            if (found := cache.get((job.namespace, name))) is not None and owner_uid(found) != job.uid
        )
