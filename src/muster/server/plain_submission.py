"""The busiest call without the framework's dependencies, which cost more than everything else it does before it is
stored.

It takes only submissions without a query and without an Idempotency-Key. All others, and the documentation, belong to
the route in `routes.jobs`, and both lead to the same function.
"""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match, Route
from starlette.types import Scope

from muster.server.request_body import read_submission
from muster.server.routes.jobs import submit
from muster.server.services import authenticated, services_of


class PlainSubmission(Route):
    def __init__(self, path: str) -> None:
        super().__init__(path, _submit, methods=["POST"], include_in_schema=False)

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        if scope["type"] != "http" or scope["method"] != "POST" or scope["query_string"] or _is_repeatable(scope):
            return Match.NONE, {}
        return super().matches(scope)


def _is_repeatable(scope: Scope) -> bool:
    return any(name == b"idempotency-key" for name, _ in scope["headers"])


async def _submit(request: Request) -> Response:
    """Reads the body first, as the framework does: a body that cannot be read is refused whoever sent it."""
    submitted = await read_submission(request)
    return await submit(submitted, await authenticated(request), services_of(request))
