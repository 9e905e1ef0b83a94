"""What OpenPAI offers and Muster does in another way, and all paths that OpenPAI does not have."""

from collections.abc import Mapping

from fastapi import APIRouter, Request, Response

from muster.server.compatibility.openpai.errors import PaiRoute, refusal

router = APIRouter(route_class=PaiRoute, include_in_schema=False)
METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"]
INSTEAD: Mapping[str, str] = {
    "users": "users are administered with `muster users`",
    "user": "users are administered with `muster users`",
    "groups": "groups are given to users with `muster users`",
    "group": "groups are given to users with `muster users`",
    "virtual-clusters": "virtual clusters are described in the server's cluster files",
    "kubernetes": "nodes are listed by `muster get nodes`",
    "alerts": "alerts of nodes are listed by `muster get nodes`",
    "authn": "people log in with an identity provider by `muster login --sso`, and clients take a token",
}


@router.api_route("/{path:path}", methods=METHODS)
async def not_answered(path: str, request: Request) -> Response:
    instead = INSTEAD.get(path.partition("/")[0])
    if instead is not None:
        return refusal(501, "NotImplementedError", f"Muster does not answer {request.method} /{path}: {instead}")
    return refusal(404, "NoApiError", f"there is no API {request.method} /{path}")
