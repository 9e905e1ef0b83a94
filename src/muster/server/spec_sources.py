"""Says of a stored spec which of its values its author need not have written, and where they come from.

What the author wrote is not kept. A value counts as a default if it is one, also if the author wrote the same.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from muster.api.jobs import SpecSourceOut
from muster.domain.jobs import Job
from muster.domain.resources import DEFAULT_CPU_M, Resources
from muster.domain.specs import JobSpec, Mount, Runtime
from muster.engine.context import Context
from muster.engine.requests.cluster_defaults import with_defaults
from muster.wire.spec_paths import differences, flat
from muster.wire.specs import spec_to_wire
from muster.wire.written_specs import default_paths, template_to_wire


def spec_sources(context: Context, job: Job) -> list[SpecSourceOut]:
    """The sources of values, in the order of the canonical spec. Each path has one: the nearest to the author."""
    spec, found = job.spec, dict[str, SpecSourceOut]()
    for source in (*_by_framework(spec), *_by_params(spec), *_by_virtual_cluster(context, job), *_ours(spec)):
        found.setdefault(source["path"], source)
    order = {path: place for place, path in enumerate(flat(spec_to_wire(job.spec)))}
    return sorted(found.values(), key=lambda source: order.get(source["path"], -1))


def _by_framework(spec: JobSpec) -> Iterator[SpecSourceOut]:
    if spec.framework_reason:
        yield {"path": "framework", "source": "command", "detail": f"{spec.framework}: {spec.framework_reason}"}


def _by_params(spec: JobSpec) -> Iterator[SpecSourceOut]:
    for path, _, written in differences(spec_to_wire(spec), template_to_wire(spec)):
        if written is not None:
            text = written if isinstance(written, str) else " ".join(map(str, written))
            yield {"path": path, "source": "params", "detail": text}


def _by_virtual_cluster(context: Context, job: Job) -> Iterator[SpecSourceOut]:
    vc = next((one for one in context.config.of(job.cluster) if one.name == job.vc), None)
    if vc is None:
        return
    bare = _saying_nothing(job.spec)
    before, given = flat(spec_to_wire(bare)), flat(spec_to_wire(with_defaults(bare, vc.defaults)))
    mounts = [(mount.target, mount.storage or mount.source) for mount in vc.defaults.mounts]
    common = {f"mounts[{place}]" for place, one in enumerate(job.spec.mounts) if _is_among(one, mounts)}
    for path, value in flat(spec_to_wire(job.spec)).items():
        is_given = path in given and value == given[path] != before.get(path) and not path.startswith("mounts[")
        if is_given or path.split(".")[0] in common:
            yield {"path": path, "source": "virtual-cluster", "detail": vc.name}


def _saying_nothing(spec: JobSpec) -> JobSpec:
    """The job without all that a virtual cluster gives by default."""
    roles = tuple(replace(role, resources=Resources(DEFAULT_CPU_M)) for role in spec.roles)
    return replace(spec, env={}, env_template={}, runtime=Runtime(), mounts=(), roles=roles)


def _is_among(mount: Mount, given: Sequence[tuple[str, str]]) -> bool:
    return (mount.target, mount.storage or mount.source) in given


def _ours(spec: JobSpec) -> Iterator[SpecSourceOut]:
    for path in default_paths(spec):
        yield {"path": path, "source": "muster", "detail": ""}
