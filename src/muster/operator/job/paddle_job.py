"""A PaddleJob as it was asked for, read tolerantly from the resource.

Nothing here raises: an old CRD may not validate, so whatever is wrong becomes a problem, which the job reports in a
condition until somebody corrects it.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from muster.domain.specs import PS_ROLE, WORKER_ROLE, Mode
from muster.kubernetes.resources import Object, annotations_of, key_of, uid_of
from muster.kubernetes.times import instant
from muster.launch.frameworks.paddle import HETER_ROLE

ROLES = (PS_ROLE, WORKER_ROLE, HETER_ROLE)
_MOST_REPLICAS = 10_000
_LONGEST_NAME = 63
_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")


class Intranet(StrEnum):
    """How the pods of a job reach each other."""

    POD_IP = "PodIP"
    SERVICE = "Service"
    HOST = "Host"


class CleanPolicy(StrEnum):
    """At which end of a job its pods are deleted."""

    ALWAYS = "Always"
    NEVER = "Never"
    ON_FAILURE = "OnFailure"
    ON_COMPLETION = "OnCompletion"


@dataclass(frozen=True, slots=True)
class RoleSpec:
    name: str
    replicas: int
    """The pods that are wanted now; for an elastic job they are within the bounds."""
    minimum: int
    maximum: int
    template: Mapping[str, Any]

    @property
    def main_container(self) -> Mapping[str, Any]:
        return dict(self.template["spec"]["containers"][0])


@dataclass(frozen=True, slots=True)
class SampleSet:
    """A claim with the data of a sample set, which is mounted into the workers."""

    claim: str
    mount_path: str


@dataclass(frozen=True, slots=True)
class PaddleJob:
    namespace: str
    name: str
    uid: str
    generation: int
    created_at: float
    is_leaving: bool
    roles: tuple[RoleSpec, ...] = ()
    clean_policy: CleanPolicy = CleanPolicy.ON_COMPLETION
    intranet: Intranet = Intranet.POD_IP
    gloo: int = 0
    is_elastic: bool = False
    scheduling: Mapping[str, Any] = field(default_factory=dict)
    sample_set: SampleSet | None = None
    is_suspended: bool = False
    deadline_s: int | None = None
    ttl_s: int | None = None
    backoff_limit: int = 0
    backoff_s: int = 10
    problems: tuple[str, ...] = ()
    """Why the job cannot run; empty if it can."""
    ignored: tuple[str, ...] = ()
    """What was written and has no effect."""
    annotations: Mapping[str, str] = field(default_factory=dict)
    status: Mapping[str, Any] = field(default_factory=dict)
    raw: Object = field(default_factory=dict, repr=False)

    @property
    def mode(self) -> Mode:
        if self.role(PS_ROLE) is not None:
            return Mode.PS
        worker = self.role(WORKER_ROLE)
        return Mode.COLLECTIVE if worker is not None and worker.replicas > 1 else Mode.SINGLE

    @property
    def attempt(self) -> int:
        """How often the gang has been restarted."""
        return _whole(self.status.get("restarts")) or 0

    @property
    def pod_count(self) -> int:
        return sum(role.replicas for role in self.roles)

    def role(self, name: str) -> RoleSpec | None:
        return next((role for role in self.roles if role.name == name), None)

    def pod_name(self, role: str, index: int) -> str:
        return f"{self.name}-{role}-{index}"

    @property
    def pod_names(self) -> tuple[str, ...]:
        return tuple(self.pod_name(role.name, index) for role in self.roles for index in range(role.replicas))


def read_job(raw: Object) -> PaddleJob:
    return _Reading(raw).job()


class _Reading:
    def __init__(self, raw: Object) -> None:
        self._raw = raw
        self._problems: list[str] = []
        self._ignored: list[str] = []

    def job(self) -> PaddleJob:
        metadata = _mapping(self._raw.get("metadata"))
        spec = self._mapping_at(self._raw.get("spec"), "spec")
        namespace, name = key_of(self._raw)
        is_elastic = spec.get("elastic") is not None
        roles = tuple(self._role(key, spec[key], is_elastic) for key in ROLES if spec.get(key) is not None)
        self._check_roles(roles, name)
        return PaddleJob(
            namespace=namespace,
            name=name,
            uid=uid_of(self._raw),
            generation=_whole(metadata.get("generation")) or 0,
            created_at=instant(metadata.get("creationTimestamp")) or 0.0,
            is_leaving=bool(metadata.get("deletionTimestamp")),
            roles=roles,
            clean_policy=self._clean_policy(spec),
            intranet=self._intranet(spec.get("intranet")),
            gloo=self._integer(spec, "withGloo", 0, most=2) or 0,
            is_elastic=is_elastic,
            scheduling=self._mapping_at(spec.get("schedulingPolicy"), "spec.schedulingPolicy"),
            sample_set=self._sample_set(spec.get("sampleSetRef")),
            is_suspended=spec.get("suspend") is True,
            deadline_s=self._integer(spec, "activeDeadlineSeconds", None, least=1),
            ttl_s=self._integer(spec, "ttlSecondsAfterFinished", None),
            backoff_limit=self._integer(spec, "backoffLimit", 0) or 0,
            backoff_s=10 if (given := self._integer(spec, "restartBackoffSeconds", 10)) is None else given,
            problems=tuple(self._problems),
            ignored=tuple(self._ignored),
            annotations={key: str(value) for key, value in annotations_of(self._raw).items()},
            status=_mapping(self._raw.get("status")),
            raw=self._raw,
        )

    def _role(self, name: str, given: object, is_elastic: bool) -> RoleSpec:
        path = f"spec.{name}"
        role = self._mapping_at(given, path)
        replicas = self._integer(role, "replicas", None, most=_MOST_REPLICAS, at=path)
        if role.get("replicas") is None:
            self._problems.append(f"{path}.replicas is missing")
        wanted = replicas or 0
        least = self._integer(role, "requests", wanted, most=_MOST_REPLICAS, at=path)
        most = self._integer(role, "limits", wanted, most=_MOST_REPLICAS, at=path)
        minimum, maximum = wanted if least is None else least, wanted if most is None else most
        if not is_elastic:
            minimum = maximum = wanted
        elif minimum > maximum:
            self._problems.append(f"{path}.requests ({minimum}) is more than {path}.limits ({maximum})")
        wanted = max(minimum, min(wanted, maximum))
        return RoleSpec(name, wanted, minimum, maximum, self._template(role.get("template"), f"{path}.template"))

    def _template(self, given: object, path: str) -> Mapping[str, Any]:
        template = self._mapping_at(given, path)
        self._mapping_at(template.get("metadata"), f"{path}.metadata")
        containers = self._mapping_at(template.get("spec"), f"{path}.spec").get("containers")
        if not isinstance(containers, list) or not containers:
            self._problems.append(f"{path}.spec.containers has no container")
        elif not all(isinstance(one, Mapping) for one in containers):
            self._problems.append(f"{path}.spec.containers has an entry that is not a mapping")
        return template

    def _check_roles(self, roles: tuple[RoleSpec, ...], name: str) -> None:
        if not any(role.name in (PS_ROLE, WORKER_ROLE) for role in roles):
            self._problems.append("spec has neither worker nor ps")
        elif not sum(role.replicas for role in roles):
            self._problems.append("spec asks for no replicas")
        longest = max((len(f"{name}-{role.name}-{max(role.maximum, role.replicas)}") for role in roles), default=0)
        if longest > _LONGEST_NAME:
            self._problems.append(f"metadata.name is {longest - _LONGEST_NAME} characters too long for its pods' names")
        elif not _LABEL.fullmatch(name):
            self._problems.append("metadata.name must consist of lower-case letters, digits and '-': pods are named so")

    def _clean_policy(self, spec: Mapping[str, Any]) -> CleanPolicy:
        if spec.get("cleanPolicy") is not None:
            self._ignored.append("spec.cleanPolicy has no effect: the field is called cleanPodPolicy")
        given = spec.get("cleanPodPolicy")
        if given in (None, ""):
            return CleanPolicy.ON_COMPLETION
        if given in tuple(CleanPolicy):
            return CleanPolicy(given)
        self._ignored.append(f"spec.cleanPodPolicy {given!r} is unknown, so pods are kept; use {_choices(CleanPolicy)}")
        return CleanPolicy.NEVER

    def _intranet(self, given: object) -> Intranet:
        if given in (None, ""):
            return Intranet.POD_IP
        if given in tuple(Intranet):
            return Intranet(str(given))
        self._ignored.append(f"spec.intranet {given!r} is unknown, so PodIP is used; use {_choices(Intranet)}")
        return Intranet.POD_IP

    def _sample_set(self, given: object) -> SampleSet | None:
        if given is None:
            return None
        found = self._mapping_at(given, "spec.sampleSetRef")
        if not (found.get("name") and found.get("mountPath")):
            self._problems.append("spec.sampleSetRef needs a name and a mountPath")
            return None
        return SampleSet(str(found["name"]), str(found["mountPath"]))

    def _integer(
        self,
        of: Mapping[str, Any],
        key: str,
        default: int | None,
        *,
        least: int = 0,
        most: int = 2**31,
        at: str = "spec",
    ) -> int | None:
        given = of.get(key)
        if given is None:
            return default
        number = _whole(given)
        if number is None or not least <= number <= most:
            self._problems.append(f"{at}.{key} must be a whole number from {least} to {most}, not {given!r}")
            return default
        return number

    def _mapping_at(self, given: object, path: str) -> Mapping[str, Any]:
        if given is not None and not isinstance(given, Mapping):
            self._problems.append(f"{path} is not a mapping")
        return _mapping(given)


def _mapping(given: object) -> Mapping[str, Any]:
    return given if isinstance(given, Mapping) else {}


def _whole(given: object) -> int | None:
    return given if isinstance(given, int) and not isinstance(given, bool) else None


def _choices(options: type[StrEnum]) -> str:
    return ", ".join(options)
