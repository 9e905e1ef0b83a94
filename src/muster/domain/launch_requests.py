"""What a backend is asked to start: composed purely by `launch`, shown by `--dry-run`, handed over unchanged."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from muster.domain.gangs import Gang
from muster.domain.specs import Input, Mount


@dataclass(frozen=True, slots=True)
class LaunchRequest:
    """Exactly what one task is started with. Archives are named by their digests; a backend gets them from the
    `Archives` that it was built with."""

    task_id: str
    node: str
    argv: tuple[str, ...]
    env: Mapping[str, str]
    files: Mapping[str, str] = field(default_factory=dict)
    ports: tuple[int, ...] = ()
    devices: tuple[int, ...] = ()
    memory_bytes: int | None = None
    cpu_m: int | None = None
    package: str | None = None
    inputs: tuple[Input, ...] = ()
    image: str | None = None
    """The task runs in a container of this image. Which container engine runs it is up to its node."""
    mounts: tuple[Mount, ...] = ()
    """What the container sees of the node besides the task's folder; both sides are absolute."""
    links: Mapping[str, str] = field(default_factory=dict)
    """Links to make in the working directory: name there → path on the node."""

    @property
    def gang_key(self) -> str:
        return self.task_id.rsplit(".", 2)[0]

    @property
    def digests(self) -> tuple[str, ...]:
        """The archives that its node needs before it can start."""
        inputs = tuple(given.digest for given in self.inputs)
        return inputs if self.package is None else (self.package, *inputs)


@dataclass(frozen=True)
class GangLaunch:
    """A whole gang with the request of each of its tasks, in the order of `gang.tasks`."""

    gang: Gang
    requests: tuple[LaunchRequest, ...]
    started: frozenset[str] = frozenset()
    """Tasks that are known to have started already: after a crash, only the rest is to be launched."""

    @cached_property
    def pending(self) -> tuple[LaunchRequest, ...]:
        if not self.started:
            return self.requests
        return tuple(request for request in self.requests if request.task_id not in self.started)
