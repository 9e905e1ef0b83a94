"""Alerts of clusters, and of the files that describe them."""

from collections.abc import Iterator

from muster.domain.alerting.alerts import Alert, AlertKind, Severity, Subject, SubjectType
from muster.domain.errors import Problem
from muster.engine.alerts.concerned import Concerned
from muster.engine.cluster_access import usable_clusters
from muster.engine.context import Context


def cluster_alerts(context: Context, concerned: Concerned) -> Iterator[Alert]:
    for name in usable_clusters(context, concerned.user):
        nodes = context.schedulable_nodes(name)
        if not any(node.is_usable for node in nodes):
            yield _unreachable(context, concerned, name)
    if concerned.user.is_admin:
        yield from (_of_file(problem) for problem in dict.fromkeys(context.config.problems))


def _unreachable(context: Context, concerned: Concerned, name: str) -> Alert:
    count = len(context.backends[name].nodes())
    engine = context.engine(name)
    why = engine.unknown_why() if engine is not None and concerned.user.is_admin else ""
    told = why or _none_ready(count)
    return Alert(
        AlertKind.CLUSTER_UNREACHABLE,
        Severity.CRITICAL,
        Subject(SubjectType.CLUSTER, name, name),
        f"cluster {name} can start no job: {told}",
        f"see `muster get nodes --cluster {name}`" if count else f"see `muster describe cluster/{name}`",
        numbers={"nodes": count},
        concerns_me=concerned.by_cluster(name),
    )


def _none_ready(nodes: int) -> str:
    if not nodes:
        return "it has no node"
    return "its only node is not ready" if nodes == 1 else f"none of its {nodes} nodes is ready"


def _of_file(problem: Problem) -> Alert:
    """The subject is the file, or the settings if the problem is in none."""
    numbers: dict[str, int | float | str] = {"file": problem.file, "path": problem.path}
    if problem.line is not None:
        numbers["line"] = problem.line
    return Alert(
        AlertKind.CLUSTER_FILE,
        Severity.WARNING,
        Subject(SubjectType.CLUSTER, problem.file or problem.path or "settings"),
        str(problem),
        "`muster cluster check` shows all problems of the cluster files",
        numbers=numbers,
        concerns_me=True,
        part=str(problem),
    )
