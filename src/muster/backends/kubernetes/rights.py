"""The rights that the account of a cluster's file needs, and which of them it lacks, for `muster cluster check`."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass

from muster.backends.kinds import Examination
from muster.backends.kubernetes.options import JobObjects, KubernetesOptions, Scheduling
from muster.domain.clusters import PhysicalCluster
from muster.domain.errors import MusterError
from muster.kubernetes.connection import Connection, connect
from muster.kubernetes.errors import Missing, Refused
from muster.kubernetes.kubeconfig import described
from muster.kubernetes.pod_groups import VOLCANO_GROUPS, kubernetes_groups
from muster.kubernetes.resources import (
    CONFIG_MAPS,
    NAMESPACES,
    NODE_METRICS,
    NODES,
    PADDLE_JOBS,
    POD_METRICS,
    PODS,
    SECRETS,
    SERVICES,
    Resource,
)

_FOLLOW, _OWN = ("list", "watch"), ("create", "delete", "get")
_NO_JOBS = "jobs cannot run"


@dataclass(frozen=True, slots=True)
class Right:
    resource: Resource
    verbs: tuple[str, ...]
    namespace: str | None
    """None means in all namespaces, or for what is in none."""
    without: str
    """What follows if it is missing."""
    subresource: str = ""
    is_vital: bool = False
    """Whether no job runs without it."""

    @property
    def what(self) -> str:
        if self.resource in (NODE_METRICS, POD_METRICS):
            return f"{self.resource.plural}.{self.resource.group}"
        return f"{self.resource.plural}/{self.subresource}" if self.subresource else self.resource.plural

    @property
    def where(self) -> str:
        if not self.resource.is_namespaced:
            return ""
        return f" of namespace {self.namespace}" if self.namespace else " of all namespaces"


def examine(cluster: PhysicalCluster) -> Examination:
    """Whether jobs could run, what the account of the cluster may not do, and what follows from that. The API server is
    asked."""
    assert isinstance(cluster.options, KubernetesOptions)
    return asyncio.run(_examined(cluster.options))


async def _examined(options: KubernetesOptions) -> Examination:
    try:
        connection = connect(options.kubeconfig, options.context)
    except MusterError as error:
        return Examination(failures=[error.message])
    namespace = options.namespace or connection.namespace
    notes = [f"uses {described(options.kubeconfig, options.context)}, namespace {namespace}"]
    try:
        has_paddle_jobs = await connection.offers(PADDLE_JOBS)
        rights = list(needed_rights(options, connection.namespace, has_paddle_jobs=has_paddle_jobs))
        lacking = await asyncio.gather(*(_lacking(connection, right) for right in rights))
        missing = "" if options.is_per_user else await _missing_namespace(connection, namespace)
    except MusterError as error:
        return Examination(notes, [f"{error.message}: {_NO_JOBS}"])
    finally:
        await connection.close()
    failures = [missing] if missing else []
    warnings: list[str] = []
    for right, verbs in zip(rights, lacking, strict=True):
        if verbs:
            words = f"the account may not {', '.join(verbs)} {right.what}{right.where}: {right.without}"
            (failures if right.is_vital else warnings).append(words)
    return Examination(notes, failures, warnings)


async def _missing_namespace(connection: Connection, namespace: str) -> str:
    """Says that the namespace does not exist, as far as the account may know. Creating an object in it on trial needs
    no right but one that is needed anyway."""
    trial = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "muster-check-"}}
    try:
        await connection.request("POST", CONFIG_MAPS.path(namespace), params={"dryRun": "All"}, body=trial)
    except Missing:
        return f"there is no namespace {namespace}: create it with `kubectl create namespace {namespace}`"
    except Refused:
        return await _missing_or_hidden(connection, namespace)
    return ""


async def _missing_or_hidden(connection: Connection, namespace: str) -> str:
    try:
        await connection.get(NAMESPACES, namespace)
    except Missing:
        return f"there is no namespace {namespace}: create it with `kubectl create namespace {namespace}`"
    except Refused:
        return f"the account has no rights in namespace {namespace}, or there is no such namespace"
    return ""


def needed_rights(options: KubernetesOptions, default_namespace: str, *, has_paddle_jobs: bool) -> Iterator[Right]:
    home = None if options.is_per_user else options.namespace or default_namespace
    yield Right(NODES, _FOLLOW, None, "what is free is not known, and jobs wait", is_vital=True)
    yield Right(PODS, _FOLLOW, None, "what others use seems free")
    if home is not None:
        yield Right(PODS, _FOLLOW, home, _NO_JOBS, is_vital=True)
    yield Right(PODS, _OWN, home, _NO_JOBS, is_vital=True)
    yield Right(PODS, ("get",), home, "there are no logs", "log")
    yield Right(PODS, ("get", "create"), home, "jobs with outputs are refused, and so is `muster exec`", "exec")
    unreached = "ports of tasks cannot be reached: no `muster port-forward`, and no notebooks"
    yield Right(PODS, ("get", "create"), home, unreached, "portforward")
    for metrics, where in ((NODE_METRICS, None), (POD_METRICS, home)):
        yield Right(metrics, ("list",), where, "usage is not known")
    yield Right(CONFIG_MAPS, _OWN, home, _NO_JOBS, is_vital=True)
    yield Right(SERVICES, ("create",), home, "jobs of several tasks cannot run")
    yield Right(SECRETS, ("create", "get", "patch"), home, "jobs with packages or secrets cannot run")
    if options.scheduling is not Scheduling.NONE:
        groups = VOLCANO_GROUPS if options.scheduling is Scheduling.VOLCANO else kubernetes_groups("")
        yield Right(groups, ("create",), home, f"`scheduling: {options.scheduling}` cannot be used")
    if options.is_per_user:
        yield Right(NAMESPACES, ("get",), None, _NO_JOBS, is_vital=True)
        yield Right(NAMESPACES, ("create",), None, "the namespaces of new users have to be made by hand")
    if has_paddle_jobs and options.jobs is not JobObjects.PODS:
        yield Right(PADDLE_JOBS, (*_OWN, "list"), home, "jobs cannot become PaddleJobs: set `jobs: pods`")
    if options.shows_foreign_jobs:
        for namespace in options.foreign_namespaces or (None,):
            yield Right(PADDLE_JOBS, _FOLLOW, namespace, "jobs that were made with kubectl are not shown")


async def _lacking(connection: Connection, right: Right) -> list[str]:
    return [
        verb
        for verb in right.verbs
        if not await connection.may(verb, right.resource, right.subresource, namespace=right.namespace)
    ]
