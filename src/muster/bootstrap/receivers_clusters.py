"""Which clusters the receivers of a deployment will offer, said at the deployment if somebody would wonder later."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from muster.backends.local.cluster_file import LOCAL
from muster.bootstrap.backend_kinds import backend_kinds, cluster_kinds
from muster.domain.errors import Invalid
from muster.ports.cluster_config import ClusterSettings
from muster.receivers.addresses import Address
from muster.receivers.deployments import Deployment
from muster.settings.clusters import ClusterFolder
from muster.settings.offers import clusters_in
from muster.settings.receivers import ReceiversPlan


def cluster_notes(plan: ReceiversPlan, deployment: Deployment) -> Iterator[str]:
    folder = plan.clusters or deployment.store / "clusters.d"
    try:
        kinds = cluster_kinds(backend_kinds().found)
        found = ClusterFolder(folder, (LOCAL,), kinds).read() if folder.is_dir() else ClusterSettings()
    except Invalid as error:
        first = f"{error.message}, and what is wrong does not count: {error.problems[0]}"
        yield f"{first}; `muster cluster check {folder}` shows everything"
        return
    clusters = _clusters(found)
    for names, addresses in _by_offers(plan, folder).items():
        offering = ", ".join(map(str, addresses))
        unknown = ", ".join(sorted(names - clusters.keys()))
        if unknown and plan.settings.platform is None:
            yield f"there is no cluster {unknown}, which {offering} offers"
        if not any(name in names or physical in names for name, physical in clusters.items()):
            known = ", ".join(sorted(clusters)) or "none"
            yield f"people find no cluster at {offering}: offered are {unknown or 'none'}, and there are {known}"


def _clusters(found: ClusterSettings) -> Mapping[str, str]:
    """The physical cluster of each cluster, which is itself for physical ones."""
    own = {LOCAL: LOCAL, **{cluster.name: cluster.name for cluster in found.physical}}
    disabled = {cluster.name for cluster in found.physical if not cluster.is_enabled}
    both = {**own, **{vc.name: vc.cluster for vc in found.virtual}}
    return {name: physical for name, physical in both.items() if physical not in disabled}


def _by_offers(plan: ReceiversPlan, folder: Path) -> Mapping[frozenset[str], Sequence[Address]]:
    """The receivers that do not offer everything."""
    by_offers: dict[frozenset[str], list[Address]] = {}
    for receiver in plan.settings.receivers:
        if receiver.offers is not None:
            by_offers.setdefault(frozenset(receiver.offers), []).append(receiver.parsed)
        elif plan.settings.platform is not None:
            by_offers.setdefault(frozenset(clusters_in(folder)), []).append(receiver.parsed)
    return by_offers
