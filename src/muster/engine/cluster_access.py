"""Decides which clusters a user may use. What offers clusters to users, or does something there for them, asks here.

A virtual cluster is for those who may use both it and its physical cluster. A cluster that is not offered where the
request came in is treated like one that does not exist.
"""

from muster.domain.access import Shared, is_open, may_use
from muster.domain.accounts import User, UserRole
from muster.domain.errors import Invalid, NotFound, Problem
from muster.domain.jobs import Job
from muster.domain.virtual_clusters import VirtualCluster
from muster.engine.context import Context
from muster.engine.offered_clusters import is_offered, is_virtual_offered
from muster.engine.state.cluster_settings import DEFAULT

NOBODY = User("", UserRole.USER, 0.0)


def visible_clusters(context: Context, user: User) -> list[str]:
    """The physical clusters that the user may know of, also those that take no new jobs."""
    return [name for name in context.backends if is_offered(name) and _is_visible(context, user, name)]


def usable_clusters(context: Context, user: User) -> list[str]:
    """The physical clusters to which the user may submit jobs."""
    return [name for name in visible_clusters(context, user) if _takes_jobs(context, name)]


def usable_virtual_clusters(context: Context, user: User) -> list[VirtualCluster]:
    found = (vc for vc in context.config.virtual.values() if is_virtual_offered(vc) and may_use(vc, user))
    return [vc for vc in found if _is_visible(context, user, vc.cluster) and _takes_jobs(context, vc.cluster)]


def listed_virtual_clusters(context: Context, user: User, *, is_admin: bool) -> list[VirtualCluster]:
    """Those that the user may use. Admins see all that are offered, also of clusters that take no jobs."""
    if not is_admin:
        return usable_virtual_clusters(context, user)
    return [vc for vc in context.config.virtual.values() if is_virtual_offered(vc)]


def is_usable(context: Context, user: User, name: str) -> bool:
    """Whether the user may submit jobs to the physical or virtual cluster of this name."""
    return name in usable_clusters(context, user) or any(
        vc.name == name for vc in usable_virtual_clusters(context, user)
    )


def known_clusters(context: Context, user: User | None) -> str:
    """The names of all clusters that the user may use, for hints; without a user, those that are for everybody."""
    user = user or NOBODY
    names = [*sorted(usable_clusters(context, user)), *sorted(vc.name for vc in usable_virtual_clusters(context, user))]
    return ", ".join(names)


def physical_cluster(context: Context, user: User, name: str) -> str:
    """The physical cluster of this name, or that of the virtual cluster of this name. One that the user may not use is
    refused with the same words as one that does not exist."""
    vc = context.config.virtual.get(name)
    home = vc.cluster if vc is not None and may_use(vc, user) else name
    if not is_destination_offered(context, name) or not _is_visible(context, user, home):
        raise NotFound(f"there is no cluster {name!r}", hint="see `muster get clusters`")
    return home


def is_destination_offered(context: Context, name: str) -> bool:
    """Whether the physical or virtual cluster of this name is offered where the request came in."""
    vc = context.config.virtual.get(name)
    return is_offered(name) if vc is None else is_virtual_offered(vc)


def default_cluster(context: Context, user: User) -> str | None:
    """Where jobs of this user go that name no cluster: the server's default, else the only cluster that the user may
    use, else the virtual cluster `default`. None if the user has to name one."""
    usable = usable_clusters(context, user)
    if context.default_cluster in usable:
        return context.default_cluster
    if len(usable) == 1:
        return usable[0]
    return next((vc.name for vc in usable_virtual_clusters(context, user) if vc.name == DEFAULT), None)


async def chosen_cluster(context: Context, named: str | None, owner: str) -> str:
    """The cluster that a job names, or the default for its owner. Raises Invalid if there is none."""
    if named:
        return named
    if is_offered(context.default_cluster) and is_open_to_all(context, context.default_cluster):
        return context.default_cluster
    user = await context.store.user(owner)
    found = default_cluster(context, user) if user is not None else None
    if found is not None:
        return found
    if usable := known_clusters(context, user):
        hint = f"{owner} may use {usable}"
        problem = Problem("cluster", "is missing, and this server has no default cluster", hint)
        raise Invalid("name the cluster on which the job should run", problems=(problem,))
    default = context.default_cluster
    why = f"cluster {default} is switched off" if is_switched_off(context, default) else f"{owner} may use no cluster"
    raise Invalid(
        f"there is no cluster for jobs of {owner}", problems=(Problem("cluster", why, advice(context, user)),)
    )


def advice(context: Context, user: User | None) -> str:
    """What to do for a user who may use no cluster."""
    files = sorted({settings.file for settings in context.config.physical if not settings.is_enabled})
    if user is not None and user.is_admin and files:
        return f"it is switched off in {', '.join(files)}: remove `enabled: false` there"
    return "ask an admin for access to a cluster"


def is_open_to_all(context: Context, name: str) -> bool:
    """Most clusters are, and then the user need not be looked up."""
    backend = context.backends.get(name)
    return backend is not None and _takes_jobs(context, name) and is_open(backend.settings.access)


def is_removed(context: Context, name: str) -> bool:
    """Whether it has no file any more. Its jobs come to their end, and it is gone after the last."""
    backend = context.backends.get(name)
    is_leaving = backend is None or backend.settings.is_leaving
    return is_leaving and all(settings.name != name for settings in context.config.physical)


def is_switched_off(context: Context, name: str) -> bool:
    """Whether its file says so. It may have gone since, or still run its last jobs."""
    return any(settings.name == name and not settings.is_enabled for settings in context.config.physical)


async def lost_access(context: Context, job: Job) -> str | None:
    """Why the job may not be started where it waits, although it was accepted there; None if it may."""
    if is_switched_off(context, job.cluster):
        return f"cluster {job.cluster} is switched off"
    backend = context.backends.get(job.cluster)
    if backend is None:
        return None  # its file may come back
    vc = context.config.virtual.get(job.vc)
    lists: list[tuple[str, Shared]] = [(f"cluster {job.cluster}", backend.settings.access)]
    if vc is not None:
        lists.append((f"virtual cluster {vc.name}", vc))
    closed = [(what, shared) for what, shared in lists if not is_open(shared)]
    user = await context.store.user(job.owner) if closed else None
    for what, shared in closed:
        if user is None or not may_use(shared, user):
            return f"{job.owner} may no longer use {what}"
    return None


def may_know(context: Context, user: User, name: str) -> bool:
    """Whether the user may use the cluster, or could if it were not switched off."""
    access = [settings.access for settings in context.config.physical if settings.name == name]
    return _is_visible(context, user, name) or (
        is_switched_off(context, name) and all(may_use(one, user) for one in access)
    )


def _takes_jobs(context: Context, name: str) -> bool:
    return context.backends[name].settings.is_enabled and not is_removed(context, name)


def _is_visible(context: Context, user: User, name: str) -> bool:
    backend = context.backends.get(name)
    return backend is not None and may_use(backend.settings.access, user)
