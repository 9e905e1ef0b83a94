"""Paths of paddlecloud's storage as files of a cluster.

`/pfs/DATACENTER/home/USER/…` is `USER/…` in the folder `home` of the cluster DATACENTER, and `/pfs/DATACENTER/public/…`
is in its folder `public`, from which people only read. Nobody reaches another person's home here, admins neither:
paddlecloud's users have no other way, and `muster fs` has the rights of the folder itself.
"""

from dataclasses import dataclass, replace

from fastapi import Request

from muster.domain.accounts import User, UserRole
from muster.domain.errors import Forbidden, Invalid, NotFound
from muster.engine.data.file_places import Address
from muster.engine.requests.accounts import Principal
from muster.ports.files import FileKind
from muster.server.compatibility.paddlecloud.answering import caller_of
from muster.server.services import Services

ROOT = "pfs"
OWN_PATH = "/api/v1/clusters/any/files"
"""Muster's own route for files, of any cluster."""
HOME, PUBLIC = "home", "public"
NOT_PFS = "should be pfs path"
BAD_PATH = "the path should be in format eg:/pfs/datacentername/home/username"
UNAUTHORIZED = "what you request is unauthorized"
ONLY_READ = "public data can only be listed and read"


@dataclass(frozen=True, slots=True)
class PfsPath:
    """`rest` is the path below the home of the user, or below the public folder; empty for these themselves."""

    datacenter: str
    folder: str
    user: str
    rest: str = ""

    @property
    def shown(self) -> str:
        return "/".join(("", ROOT, self.datacenter, self.folder, *filter(None, (self.user, self.rest))))

    @property
    def address(self) -> Address:
        return Address(self.datacenter, "/".join(filter(None, (self.folder, self.user, self.rest))))

    @property
    def home(self) -> "PfsPath":
        return PfsPath(self.datacenter, self.folder, self.user)

    def joined(self, name: str) -> "PfsPath":
        return PfsPath(self.datacenter, self.folder, self.user, f"{self.rest}/{name}" if self.rest else name)


def parsed(path: str, user: str, *, changing: bool = False) -> PfsPath:
    """Raises Invalid if it is no such path, and Forbidden if it is not for this user."""
    given = path.strip()
    if not given.startswith(f"/{ROOT}/"):
        raise Invalid(f"{NOT_PFS}:{path}")
    parts = [part for part in given.split("/") if part not in ("", ".")]
    if ".." in parts or "\0" in given:
        raise Forbidden(UNAUTHORIZED)
    if len(parts) >= 3 and parts[2] == PUBLIC:
        if changing:
            raise Forbidden(ONLY_READ)
        return PfsPath(parts[1], PUBLIC, "", "/".join(parts[3:]))
    if len(parts) < 4 or parts[2] != HOME:
        raise Invalid(BAD_PATH)
    if parts[3] != user:
        raise Forbidden(UNAUTHORIZED)
    return PfsPath(parts[1], HOME, user, "/".join(parts[4:]))


def plain(user: User) -> User:
    """Nobody touches files here with the rights of an admin: what an admin uploads must belong to the account under
    which their job runs."""
    return replace(user, role=UserRole.USER)


async def storage_caller(request: Request) -> Principal:
    principal = await _caller(request)
    return replace(principal, user=plain(principal.user))


_caller = caller_of(OWN_PATH)


async def found(parts: Services, me: Principal, path: str, *, changing: bool = False) -> PfsPath:
    """The path, if the cluster is there and has the folder for it, and the home is the caller's own."""
    pfs = parsed(path, me.name, changing=changing)
    try:
        folders = {folder.name for folder in parts.files.folders(me.user, pfs.datacenter)}
    except NotFound:
        raise NotFound(f"no datacenter {pfs.datacenter}", hint="it is the name of a cluster") from None
    if pfs.folder not in folders:
        hint = f"its cluster file needs `folders: {{{pfs.folder}: PATH}}`"
        raise NotFound(f"datacenter {pfs.datacenter} has no folder {pfs.folder}", hint=hint)
    await has_own_home(parts, me.user, pfs)
    return pfs


async def has_own_home(parts: Services, user: User, pfs: PfsPath) -> bool:
    """Whether the home is there already. Somebody else may have made it first where all may write to the folder `home`,
    and could put their own programs there: raises Forbidden."""
    if pfs.folder != HOME:
        return True
    try:
        facts = await parts.files.stat(plain(user), pfs.home.address)
    except NotFound:
        return False
    if facts.kind is not FileKind.FOLDER or not facts.is_private:
        message = f"{pfs.home.shown} is not a folder of {user.name} alone: another account owns it or may write to it"
        hint = f"an admin removes it, or makes it a folder that the account of {user.name} owns, with mode 700"
        raise Forbidden(message, hint=hint)
    return True


async def make_home(parts: Services, me: Principal, pfs: PfsPath) -> None:
    """The home of a person is made when they first write to it, and is for them alone."""
    if not await has_own_home(parts, me.user, pfs):
        await parts.files.make_folder(me.user, pfs.home.address, parents=True, private=True)
        await has_own_home(parts, me.user, pfs)  # somebody else may have been faster
