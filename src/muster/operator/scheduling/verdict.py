"""What a scheduling says about a job."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from muster.operator.job.actions import Action


@dataclass(frozen=True, slots=True)
class Verdict:
    """The default lets pods be created as they are."""

    may_create: bool = True
    """Whether missing pods may be created now."""
    reason: str = ""
    """Why the job does not start, for people; the job shows it in the condition Admitted."""
    code: str = ""
    """The reason as one word."""
    is_warning: bool = False
    """Whether somebody has to do something about it."""
    shared_annotations: Mapping[str, str] = field(default_factory=dict)
    role_annotations: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Annotations of the pods of one role."""
    labels: Mapping[str, str] = field(default_factory=dict)
    scheduler_name: str = ""
    """The scheduler of all pods; empty leaves it as the templates say."""
    gates: tuple[str, ...] = ()
    """Scheduling gates that new pods get."""
    pod_spec: Mapping[str, Any] = field(default_factory=dict)
    """Other keys of the specs of new pods, such as `schedulingGroup`."""
    actions: tuple[Action, ...] = ()
    """What has to be done before pods are created (a PodGroup), or instead of it (lifting gates, deleting a group)."""

    def doing(self, actions: tuple[Action, ...]) -> "Verdict":
        return replace(self, actions=actions)

    def waiting(self, code: str, reason: str, actions: tuple[Action, ...] = ()) -> "Verdict":
        """The same, but pods are not created yet."""
        return replace(self, may_create=False, code=code, reason=reason, actions=(*self.actions, *actions))

    def annotations(self, role: str) -> dict[str, str]:
        return {**self.shared_annotations, **self.role_annotations.get(role, {})}

    def apply_to(self, spec: dict[str, Any]) -> None:
        if self.scheduler_name:
            spec["schedulerName"] = self.scheduler_name
        if self.gates:
            spec["schedulingGates"] = [
                *(spec.get("schedulingGates") or []),
                *({"name": gate} for gate in self.gates),
            ]
        spec.update(self.pod_spec)
