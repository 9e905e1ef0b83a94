"""What the jobs of Kubeflow's Training Operator (`kubeflow.org/v1`) have in common: replica specs and a run policy."""

from collections.abc import Mapping, Sequence
from typing import Any

from muster.domain.specs import Framework
from muster.wire.dialects.kubernetes.kube_metadata import around_spec, name_of, namespace_of, unknown_keys
from muster.wire.dialects.kubernetes.pod_gangs import translate_pods
from muster.wire.dialects.kubernetes.pod_variables import Given
from muster.wire.dialects.kubernetes.pods import PodRole, first_container
from muster.wire.dialects.kubernetes.run_policies import restart_policies, run_policy
from muster.wire.dialects.translation import Translator
from muster.wire.documents import Document, Path

VERSION = "kubeflow.org/v1"
STATES = {
    "Queued": "Created",
    "Held": "Suspended",
    "Starting": "Created",
    "Running": "Running",
    "Stopping": "Running",
    "Succeeded": "Succeeded",
    "Failed": "Failed",
    "Cancelled": "Failed",
}
"""The condition of a job of the Training Operator for each state of a Muster job."""

_OLD_PLACES = ("cleanPodPolicy", "ttlSecondsAfterFinished", "activeDeadlineSeconds", "backoffLimit")
"""Older versions have these in the `spec`; newer ones have them in its `runPolicy`."""
_REPLICA_KEYS = ("replicas", "restartPolicy", "template")


class KubeflowJob:
    """A job while it is translated. The order of `types` is that of the ranks, whatever the order in the file."""

    def __init__(self, document: Document, key: str, types: Sequence[str], framework: Framework) -> None:
        self.into = Translator(document)
        self.spec = around_spec(self.into, document.data)
        self.namespace = namespace_of(document.data)
        self.name = name_of(document.data)
        self.at: Path = ("spec", key)
        self._key = key
        self._types = types
        given = self.into.mapping(self.spec.get(key), self.at)
        self._places = {place.lower(): place for place in given}
        self._replicas: dict[str, dict[str, Any]] = {
            kind: self.into.mapping(given[self._places[kind]], (*self.at, self._places[kind]))
            for kind in types
            if given.get(self._places.get(kind, "")) is not None
        }
        self.into.put(("framework",), str(framework), ("kind",))
        for place in given:
            if place.lower() not in types:
                message = f"there are no such replicas in this job, only {', '.join(t.capitalize() for t in types)}"
                self.into.refuse((*self.at, place), message, "remove it")
        if not self._replicas:
            hint = f"at least one of {', '.join(kind.capitalize() for kind in types)}"
            self.into.refuse(self.at, "is required", hint, settled_by=("command",))

    def has(self, kind: str) -> bool:
        return kind in self._replicas

    def count(self, kind: str) -> Any:
        value = self._replicas[kind].get("replicas")
        return 1 if value is None else value

    def place(self, kind: str) -> Path:
        return (*self.at, self._places.get(kind, kind))

    def template(self, kind: str) -> Any:
        return self._replicas[kind].get("template")

    def first_container(self, kind: str) -> dict[str, Any]:
        return first_container(self._replicas.get(kind, {}))

    def roles(
        self,
        given: Mapping[str, Given],
        keys: Sequence[str],
        starts: Mapping[str, Sequence[str]] | None = None,
        otherwise: Mapping[str, list[str]] | None = None,
    ) -> list[PodRole]:
        """Translates the replicas and the run policy. `given` has the variables of the original by role, `keys` are
        the keys of the `spec` that the dialect itself reads, `starts` are lines before the commands."""
        roles = []
        for kind in self._replicas:
            self._sizes(kind)
            at: Path = (*self.place(kind), "template")
            own = given.get(kind)
            role = PodRole(self.into, kind, self.template(kind), at, given=own, namespace=self.namespace)
            role.starts += (starts or {}).get(kind, ())
            roles.append(role)
        translate_pods(self.into, roles, self.name, otherwise=otherwise)
        self._policies(roles, keys)
        return roles

    def _sizes(self, kind: str) -> None:
        self.into.put(("roles", kind), {}, self.place(kind))
        self.into.put(("roles", kind, "replicas"), self.count(kind), (*self.place(kind), "replicas"))
        unknown_keys(self.into, self._replicas[kind], self.place(kind), _REPLICA_KEYS)

    def _policies(self, roles: Sequence[PodRole], keys: Sequence[str]) -> None:
        tasks = sum(count for kind in self._replicas if isinstance(count := self.count(kind), int))
        policies = {
            kind: (replica["restartPolicy"], (*self.place(kind), "restartPolicy"))
            for kind, replica in self._replicas.items()
            if replica.get("restartPolicy") is not None
        }
        restart_policies(self.into, roles, policies)
        old = {key: self.spec[key] for key in _OLD_PLACES if self.spec.get(key) is not None}
        run_policy(self.into, old, ("spec",), tasks)
        run_policy(self.into, self.spec.get("runPolicy"), ("spec", "runPolicy"), tasks)
        unknown_keys(self.into, self.spec, ("spec",), (self._key, "runPolicy", *_OLD_PLACES, *keys))
