"""What the reader of metrics may know: a scrape shows no more than the same person could read elsewhere."""

from collections.abc import Sequence
from dataclasses import dataclass

from muster.engine.cluster_access import NOBODY, usable_virtual_clusters, visible_clusters
from muster.engine.context import Context
from muster.engine.requests.accounts import Principal


@dataclass(frozen=True, slots=True)
class Reader:
    clusters: Sequence[str]
    virtual_clusters: frozenset[str] = frozenset()
    sees_jobs: bool = False
    """Whether the reader may know of the jobs of everybody."""

    def virtual_cluster(self, name: str) -> str:
        """Jobs in one that the reader may not use count without its name."""
        return name if name in self.virtual_clusters else ""


def anybody(context: Context) -> Reader:
    """Who reads metrics that are open to everybody: names of people and jobs are not among them."""
    return Reader(list(context.backends), _virtual_clusters(context, None))


def reader_of(context: Context, principal: Principal) -> Reader:
    return Reader(
        visible_clusters(context, principal.user),
        _virtual_clusters(context, principal),
        sees_jobs=principal.is_admin or not context.has_private_jobs,
    )


def _virtual_clusters(context: Context, principal: Principal | None) -> frozenset[str]:
    user = NOBODY if principal is None else principal.user
    return frozenset(vc.name for vc in usable_virtual_clusters(context, user))
