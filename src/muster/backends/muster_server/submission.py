"""Builds the request that hands a gang on: what the other server is asked to run, and under which key."""

from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from muster.domain.errors import Problem
from muster.domain.gangs import Gang
from muster.domain.launch_requests import GangLaunch
from muster.domain.specs import HANDED_ON, Completion, JobSpec
from muster.wire.specs import spec_to_wire

_DECIDED_HERE = Completion(min_failed=None, min_succeeded=None)
"""The other server ends a job only when all its tasks have ended. When enough of them have, is decided here."""


@dataclass(frozen=True, slots=True)
class Way:
    """The way that jobs go: from whom they come, and to whom."""

    own: str
    """The installation of this server."""
    name: str
    """The cluster, as this server calls it."""
    cluster: str
    """The cluster, as the other one calls it."""


def request_key(way: Way, gang: Gang) -> str:
    """The same whenever this attempt is handed on, so that it is done once."""
    return f"handed-on:{way.own}:{gang.key}"


def submission(launch: GangLaunch, way: Way, to: str) -> dict[str, Any]:
    gang = launch.gang
    return {
        **shown_submission(gang, way),
        "to": to,
        "secrets": {
            name: b64encode(launch.secret_values[name]).decode()
            for name in gang.spec.secret_names
            if name in launch.secret_values
        },
    }


def shown_submission(gang: Gang, way: Way) -> dict[str, Any]:
    """The request without what is secret, or not known before it is sent."""
    return {
        "server": way.own,
        "cluster": way.name,
        "via": list(via(gang.spec, way)),
        "job": gang.job_id,
        "attempt": gang.attempt,
        "owner": gang.owner,
        "spec": spec_to_wire(handed_spec(gang, way)),
    }


def via(spec: JobSpec, way: Way) -> tuple[str, ...]:
    """All installations that the job has come through, with this one."""
    return (*(spec.handed_on.via if spec.handed_on is not None else ()), way.own)


def handed_spec(gang: Gang, way: Way) -> JobSpec:
    """The spec of this one attempt: with as many tasks as it has, without what this server decides itself."""
    roles = tuple(
        replace(
            role,
            replicas=len(gang.of_role(role.name)),
            min_replicas=None,
            max_replicas=None,
            completion=_DECIDED_HERE,
        )
        for role in gang.spec.roles
    )
    return replace(
        gang.spec,
        roles=roles,
        cluster=way.cluster,
        framework_reason="",
        retry_max=0,
        held=False,
        after=(),
        labels={name: value for name, value in gang.spec.labels.items() if name != HANDED_ON},
    )


def cannot_honour(spec: JobSpec, name: str) -> Iterator[Problem]:
    """What a job cannot have on another server's cluster."""
    for place, mount in enumerate(spec.mounts):
        if not mount.storage:
            message = f"{mount.source!r} is no folder of cluster {name}, which is another Muster server"
            yield Problem(f"mounts[{place}].source", message, "name a storage of that server: storage: NAME")
    if spec.package_place is not None:
        yield Problem("package", f"cluster {name} is another Muster server, whose files are not seen here", "upload it")
    if spec.ssh is not None:
        yield Problem("ssh", f"tasks on cluster {name} have no SSH server yet", "use `muster shell`")
    for role in spec.roles:
        if role.stdin:
            path = f"roles.{role.name}.stdin"
            yield Problem(path, f"cannot be attached to on cluster {name} yet", "`muster shell` opens a shell")
