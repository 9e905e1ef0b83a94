"""Limits every request that comes in here to the clusters that this server offers."""

from collections.abc import Callable

from starlette.types import ASGIApp, Receive, Scope, Send

from muster.engine.offered_clusters import Offers, offering

OwnOffers = Callable[[], Offers | None]
"""The clusters that this server offers at the moment; None for all."""


def all_clusters() -> Offers | None:
    return None


class Offering:
    """Pure ASGI, for a standby that answers from the store."""

    def __init__(self, app: ASGIApp, own_offers: OwnOffers) -> None:
        self._app = app
        self._own_offers = own_offers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with offering(self._own_offers()):
            await self._app(scope, receive, send)
