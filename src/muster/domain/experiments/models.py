"""Models: files of a job's outputs that are kept under a name, in versions that never change."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from muster.domain.experiments.runs import noted_commit
from muster.domain.jobs import Job
from muster.domain.specs import ParamValue

NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?")
MAX_FILES = 10_000


@dataclass(frozen=True, slots=True)
class ModelFile:
    """`path` is its path in the model."""

    path: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Lineage:
    """The origin of a model. It is copied from the job, which may be deleted earlier than the model."""

    job_id: str
    job: str
    attempt: int
    path: str
    """A path among the outputs of the job."""
    cluster: str
    framework: str
    package: str = ""
    """The digest of the code, or where it lies on the cluster."""
    inputs: tuple[str, ...] = ()
    """The digests of data that was sent with the job."""
    mounts: tuple[str, ...] = ()
    """The folders of the cluster that the job had."""
    image: str = ""
    params: Mapping[str, ParamValue] = field(default_factory=dict)
    sweep: str = ""
    member: int = 0
    commit: str = ""
    """The commit of the code, as the client has noted it; with `-dirty` if it was changed since."""


@dataclass(frozen=True, slots=True)
class Model:
    """One version."""

    id: str
    owner: str
    name: str
    version: int
    created_at: float
    description: str
    files: tuple[ModelFile, ...]
    lineage: Lineage

    @property
    def size_bytes(self) -> int:
        return sum(file.size for file in self.files)


def lineage_of(job: Job, attempt: int, path: str) -> Lineage:
    spec, place = job.spec, job.spec.package_place
    return Lineage(
        job_id=job.id,
        job=job.name,
        attempt=attempt,
        path=path,
        cluster=job.cluster,
        framework=str(spec.framework),
        package=f"{place.cluster}:{place.path}" if place else spec.package or "",
        inputs=tuple(one.source for one in spec.inputs),
        mounts=tuple(mount.storage or mount.source for mount in spec.mounts),
        image=spec.runtime.image or "",
        params=dict(spec.params),
        sweep=job.sweep,
        member=job.member,
        commit=noted_commit(spec.labels),
    )
