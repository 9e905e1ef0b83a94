"""Finds the PodGroups that an API server offers. Raises Missing, in words for the users, if there are none."""

from muster.kubernetes.connection import Connection
from muster.kubernetes.errors import Missing, Refused
from muster.kubernetes.pod_groups import KUBERNETES, VOLCANO_GROUPS, kubernetes_groups, kubernetes_member
from muster.kubernetes.resources import PODS, Resource


async def find_volcano_groups(connection: Connection) -> Resource:
    if await connection.offers(VOLCANO_GROUPS):
        return VOLCANO_GROUPS
    words = f"the API server has no PodGroups of Volcano ({VOLCANO_GROUPS.api_version}): is it installed?"
    raise Missing(words, status=404)


async def find_kubernetes_groups(connection: Connection, namespace: str) -> Resource:
    """An API server that ignores what pods say about their group counts as one that has none."""
    resource = await _offered(connection)
    if resource is None:
        words = f"the API server has no PodGroups of {KUBERNETES}: they need Kubernetes 1.36 or newer"
        raise Missing(f"{words}, with the feature gate GenericWorkload", status=404)
    if not await _accepts_members(connection, namespace):
        raise Missing("the API server ignores spec.schedulingGroup of pods: enable GenericWorkload", status=404)
    return resource


async def _offered(connection: Connection) -> Resource | None:
    try:
        found = await connection.request("GET", f"/apis/{KUBERNETES}")
    except Missing:
        return None
    for version in found.get("versions") or ():
        resource = kubernetes_groups(str(version.get("version")))
        if await connection.offers(resource):
            return resource
    return None


async def _accepts_members(connection: Connection, namespace: str) -> bool:
    """An API server may offer PodGroups and drop the pods' field about them. A pod that is not really created shows it;
    if it is refused, nothing is known."""
    member = {
        "metadata": {"generateName": "gang-"},
        "spec": {**kubernetes_member("gang"), "containers": [{"name": "main", "image": "none"}]},
    }
    try:
        made = await connection.request("POST", PODS.path(namespace), params={"dryRun": "All"}, body=member)
    except Refused:
        return True
    return "schedulingGroup" in (made.get("spec") or {})
