"""Which block of ports on the nodes each job with `intranet: Host` has."""

from collections.abc import Callable, Collection, Iterable, Iterator

from muster.kubernetes.resources import HOST_PORT, Key, Object, annotations_of, key_of, uid_of
from muster.kubernetes.times import instant
from muster.operator.job.paddle_job import PaddleJob
from muster.operator.job.phases import ENDED
from muster.operator.job.pod_states import pod_state
from muster.operator.job.ports import Claim, PortRange, block_for


class HostPorts:
    """A block that was given is remembered. After a restart, the annotations of the jobs tell who has which."""

    def __init__(self, ports: PortRange, jobs: Iterable[Object], pods_of: Callable[[str], Collection[Object]]) -> None:
        """`jobs` are all that exist at any time, and `pods_of` returns the pods of the job with a uid."""
        self._ports, self._jobs, self._pods_of = ports, jobs, pods_of
        self._given: dict[Key, Claim] = {}

    def block_of(self, job: PaddleJob) -> int | None:
        """The first port of the job's block; None if all blocks are taken."""
        key = (job.namespace, job.name)
        given = self._given.get(key)
        if given is not None and given.uid == job.uid:
            return given.block
        block = block_for(job.uid, self._claims(), self._ports)
        if block is not None:
            self._given[key] = Claim(job.uid, job.created_at, block)
        return block

    def forget(self, key: Key) -> None:
        """The job is gone."""
        self._given.pop(key, None)

    def _claims(self) -> Iterator[Claim]:
        for raw in self._jobs:
            claim = self._claim(raw)
            if claim is not None and not self._has_left(raw):
                yield claim

    def _claim(self, raw: Object) -> Claim | None:
        given, uid = self._given.get(key_of(raw)), uid_of(raw)
        if given is not None and given.uid == uid:
            return given
        block = str(annotations_of(raw).get(HOST_PORT, ""))
        if not block.isdigit():
            return None
        return Claim(uid, instant(raw["metadata"].get("creationTimestamp")) or 0.0, int(block))

    def _has_left(self, raw: Object) -> bool:
        """Whether a job has ended and none of its pods uses its ports any more."""
        has_ended = (raw.get("status") or {}).get("phase") in tuple(ENDED)
        return has_ended and all(pod_state(pod).has_ended for pod in self._pods_of(uid_of(raw)))
