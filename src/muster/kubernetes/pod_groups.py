"""PodGroups, by which a scheduler starts all pods of a gang or none: those of Kubernetes itself, and those of Volcano.

The operator makes them for PaddleJobs, and Muster's backend for gangs of plain pods.
"""

from collections.abc import Mapping
from typing import Any

from muster.kubernetes.amounts import Amounts, quantity
from muster.kubernetes.resources import Resource

KUBERNETES = "scheduling.k8s.io"
"""The group of the API. Its versions come and go while it is young."""
VOLCANO_GROUPS = Resource("scheduling.volcano.sh", "v1beta1", "PodGroup", "podgroups")
DEFAULT_SCHEDULER, VOLCANO_SCHEDULER = "default-scheduler", "volcano"
GROUP_NAME = "scheduling.k8s.io/group-name"
"""The annotation by which a pod belongs to a PodGroup of Volcano."""


def kubernetes_groups(version: str) -> Resource:
    return Resource(KUBERNETES, version, "PodGroup", "podgroups")


def kubernetes_group_spec(size: int, priority_class: str = "") -> dict[str, Any]:
    spec: dict[str, Any] = {"schedulingPolicy": {"gang": {"minCount": size}}}
    return {**spec, "priorityClassName": priority_class} if priority_class else spec


def kubernetes_member(group: str) -> dict[str, Any]:
    """What the spec of a pod has that belongs to the group."""
    return {"schedulingGroup": {"podGroupName": group}}


def volcano_group_spec(
    size: int, resources: Mapping[str, str], *, queue: str = "", priority_class: str = ""
) -> dict[str, Any]:
    spec: dict[str, Any] = {"minMember": size, "minResources": dict(resources)}
    more = {"queue": queue, "priorityClassName": priority_class}
    return spec | {key: value for key, value in more.items() if value}


def quantities(amounts: Amounts) -> dict[str, str]:
    return {name: quantity(amount) for name, amount in sorted(amounts.items())}
