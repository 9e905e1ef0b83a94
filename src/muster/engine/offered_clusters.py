"""The clusters that are offered where a request came in.

Several servers on one store may each offer other clusters. The one that acts answers for all of them, so the list
belongs to the request and not to the server. Loops of the engine have no request, and see every cluster.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from muster.domain.virtual_clusters import VirtualCluster

Offers = frozenset[str]
"""Names of physical and virtual clusters. Who offers a physical cluster also offers its virtual ones."""

_OFFERS: ContextVar[Offers | None] = ContextVar("offers", default=None)


@contextmanager
def offering(offers: Offers | None) -> Iterator[None]:
    """Only these clusters are offered within; None offers all."""
    token = _OFFERS.set(offers)
    try:
        yield
    finally:
        _OFFERS.reset(token)


def is_offered(cluster: str) -> bool:
    """Whether the physical cluster is offered."""
    offers = _OFFERS.get()
    return offers is None or cluster in offers


def is_virtual_offered(vc: VirtualCluster) -> bool:
    return is_offered(vc.name) or is_offered(vc.cluster)
