"""Files that people publish: an address from which everybody who knows it fetches one file, for a week.

paddlecloud never ends such an address and asks nobody who they are. Here it cannot be guessed, ends, and gives what its
user may read at the moment when somebody fetches it. Nothing is stored but the audit event: the address itself says
what it is for, and is signed.
"""

import base64
import hashlib
import hmac
import json
from dataclasses import dataclass
from typing import Annotated, Final

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import JSONResponse

from muster.domain.errors import Forbidden, NotFound
from muster.engine.requests.accounts import Principal
from muster.engine.state.event_builders import audit_event
from muster.ports.files import FileKind, WrongKind
from muster.ports.store import Change
from muster.server.compatibility.paddlecloud.answering import InWords, WithStatus, both, json_body, text
from muster.server.compatibility.paddlecloud.files import sent
from muster.server.compatibility.paddlecloud.pfs_paths import found, has_own_home, parsed, plain, storage_caller
from muster.server.services import Services, services

router = APIRouter(route_class=InWords, include_in_schema=False)
bytes_router = APIRouter(route_class=WithStatus, include_in_schema=False)
Me = Annotated[Principal, Depends(storage_caller)]
Parts = Annotated[Services, Depends(services)]
LIFETIME_S = 7 * 24 * 3600
_EVENT: Final = "fs.publish"
_MOST_LISTED = 1000
_GONE = "this address is not valid, or not any more"


@dataclass(frozen=True, slots=True)
class Publication:
    user_id: str
    user: str
    path: str
    expires: int

    def sealed(self, key: bytes) -> str:
        said = json.dumps([self.user_id, self.user, self.path, self.expires], ensure_ascii=False).encode()
        return f"{base64.urlsafe_b64encode(said).decode().rstrip('=')}.{_signature(key, said)}"


def opened(sealed: str, key: bytes, now: float) -> Publication:
    """Raises Forbidden unless this server signed it and it has not ended."""
    encoded, _, signature = sealed.partition(".")
    try:
        said = base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4))
    except ValueError:
        raise Forbidden(_GONE) from None
    if not hmac.compare_digest(_signature(key, said).encode(), signature.encode("utf-8", "replace")):
        raise Forbidden(_GONE)
    publication = Publication(*json.loads(said))
    if now >= publication.expires:
        raise Forbidden(_GONE)
    return publication


async def publish(request: Request, me: Me, parts: Parts) -> Response:
    path = text(await json_body(request), "path")
    pfs = await found(parts, me, path)
    if (await parts.files.stat(me.user, pfs.address)).kind is not FileKind.FILE:
        raise WrongKind(f"{path} is not a file")
    now = parts.context.clock()
    publication = Publication(me.user.id, me.name, pfs.shown, int(now) + LIFETIME_S)
    event = audit_event(_EVENT, me.name, now, path=pfs.shown, expires=publication.expires, userId=me.user.id)
    await parts.context.apply(Change(events=[event]))
    return JSONResponse({"url": _url(request, parts, publication)})


async def list_published(request: Request, me: Me, parts: Parts) -> Response:
    """The caller's own, as long as they are good."""
    now = parts.context.clock()
    published = [one for one in await _published(parts, me) if one.expires > now]
    urls = [_url(request, parts, one) for one in published]
    return JSONResponse({"files": [one.path for one in published], "urls": urls})


async def fetch(parts: Parts, uuid: Annotated[str, Query(max_length=8192)] = "") -> Response:
    publication = opened(uuid, _key(parts), parts.context.clock())
    user = await parts.context.store.user(publication.user)
    if user is None or user.disabled or user.id != publication.user_id:
        raise NotFound(_GONE)
    pfs = parsed(publication.path, user.name)
    await has_own_home(parts, user, pfs)
    return await sent(parts, plain(user), pfs)


for _path in both("/api/v1/publish"):
    router.add_api_route(_path, list_published, methods=["GET"], include_in_schema=False)
    router.add_api_route(_path, publish, methods=["POST"], include_in_schema=False)
for _path in both("/filepub"):
    bytes_router.add_api_route(_path, fetch, methods=["GET"], include_in_schema=False)


async def _published(parts: Services, me: Principal) -> list[Publication]:
    found: dict[str, Publication] = {}
    after = 0
    while events := await parts.context.store.events(
        after=after, job_id=None, prefix=f"audit.{_EVENT}", limit=_MOST_LISTED
    ):
        for event in events:
            if event.actor == me.name and event.data.get("userId") == me.user.id:
                path, expires = str(event.data["path"]), int(event.data["expires"])
                found[path] = Publication(me.user.id, me.name, path, expires)
        after = events[-1].seq or 0
    return list(found.values())


def _url(request: Request, parts: Services, publication: Publication) -> str:
    base = parts.public_address or str(request.base_url)
    return f"{base.rstrip('/')}/filepub/?uuid={publication.sealed(_key(parts))}"


def _key(parts: Services) -> bytes:
    """A key for this purpose alone: what signs an archive's address opens no file of a person."""
    return hmac.new(parts.archives.key, b"paddlecloud publish", hashlib.sha256).digest()


def _signature(key: bytes, said: bytes) -> str:
    return hmac.new(key, said, hashlib.sha256).hexdigest()
