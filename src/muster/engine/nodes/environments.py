"""Lists the environments that clusters offer, and tests whether they work, node by node.

A test is not a job: it gets no allocation and does not wait in the queue. It may use one GPU of the node that no job
holds at that moment. If there is none, frameworks are imported without a GPU.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from muster.domain.access import may_use
from muster.domain.accounts import User
from muster.domain.errors import BackendError, Conflict, NotFound
from muster.domain.nodes import Node
from muster.engine.cluster_access import default_cluster, physical_cluster, visible_clusters
from muster.engine.context import Context
from muster.lib.nearest import nearest
from muster.ports.capabilities import required
from muster.ports.environments import Environment, Environments, Inventory, Listing, Trial

One = TypeVar("One")
Found = TypeVar("Found")
_NODES_AT_ONCE = 16
_NAMES_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Offered:
    """An environment with the nodes where it is exactly the same."""

    cluster: str
    environment: Environment
    nodes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Offer:
    items: tuple[Offered, ...]
    problems: tuple[str, ...]


async def offered(context: Context, user: User, cluster: str | None, node: str | None) -> Offer:
    """The environments of one cluster or all clusters, on one node or all nodes."""
    items: list[Offered] = []
    problems: list[str] = []
    for name in _clusters(context, user, cluster, node):
        listings = await _listings(context, user, name, _nodes(context, name, node))
        items += _gathered(name, listings)
        problems += [f"{listing.node}: {problem}" for listing in listings for problem in listing.problems]
    return Offer(tuple(items), tuple(problems))


async def tested(context: Context, user: User, name: str, cluster: str | None, node: str | None) -> list[Trial]:
    """Test the environment of this name on every node that offers it, or on one."""
    home, listings = await _home_of(context, user, name, cluster, node)
    chosen = _named(name, listings)
    environments = _environments(context, home)

    async def test(one: tuple[str, Environment]) -> Trial:
        at, environment = one
        gpu = _free_gpu(context, home, at)
        try:
            return await environments.test(at, environment, gpu, user.name)
        except BackendError as error:
            return Trial(at, environment, gpu, error=error.message)

    return [*await _concurrently(chosen, test), *_unanswered(chosen, listings)]


async def inventories(
    context: Context, user: User, name: str, cluster: str | None, node: str | None
) -> list[Inventory]:
    """What is installed in the environment of this name, on every node that offers it, or on one."""
    home, listings = await _home_of(context, user, name, cluster, node)
    environments = _environments(context, home)

    async def packages(one: tuple[str, Environment]) -> Inventory:
        at, environment = one
        try:
            return await environments.packages(at, environment, user.name)
        except BackendError as error:
            return Inventory(at, environment, error=error.message)

    chosen = _named(name, listings)
    silent = [Inventory(one.node, one.environment, error=one.error) for one in _unanswered(chosen, listings)]
    return [*await _concurrently(chosen, packages), *silent]


async def _home_of(
    context: Context, user: User, name: str, cluster: str | None, node: str | None
) -> tuple[str, Sequence[Listing]]:
    """The cluster that offers the environment, and what its nodes offer. If none is named, it is the default cluster
    if that offers it, and otherwise the one that does."""
    listings: dict[str, list[Listing]] = {}
    default = default_cluster(context, user)
    for home in sorted(_clusters(context, user, cluster, node), key=lambda one: one != default):
        listings[home] = await _listings(context, user, home, _nodes(context, home, node))
        if home == default and _named(name, listings[home]):
            break
    home = _offering(name, listings)
    return home, listings[home]


def _named(name: str, listings: Sequence[Listing]) -> list[tuple[str, Environment]]:
    return [
        (listing.node, environment)
        for listing in listings
        for environment in listing.environments
        if name in (environment.name, environment.path)
    ]


def _offering(name: str, listings: Mapping[str, Sequence[Listing]]) -> str:
    offering = [home for home, found in listings.items() if _named(name, found)]
    if not offering:
        raise _unknown(name, listings)
    if len(offering) > 1:
        raise Conflict(f"clusters {' and '.join(offering)} offer {name!r}", hint="choose one of them with --cluster")
    return offering[0]


def _unanswered(chosen: Sequence[tuple[str, Environment]], listings: Sequence[Listing]) -> list[Trial]:
    """Failed trials for the nodes that did not list their environments, as they may have it nevertheless."""
    tested_nodes = {node for node, _ in chosen}
    silent = [listing for listing in listings if listing.problems and listing.node not in tested_nodes]
    return [Trial(one.node, chosen[0][1], None, error="; ".join(one.problems)) for one in silent]


async def _listings(context: Context, user: User, cluster: str, nodes: Sequence[Node]) -> list[Listing]:
    environments = context.backends[cluster].capabilities.environments
    if environments is None:
        return []
    settings = context.backends[cluster].settings
    folders = [folder.name for folder in settings.folders if may_use(folder, user)]

    async def listing(node: Node) -> Listing:
        try:
            return await environments.listing(node.name, folders, None if user.is_admin else user.name)
        except BackendError as error:
            return Listing(node.name, problems=(error.message,))

    return await _concurrently([node for node in nodes if node.is_reachable], listing)


async def _concurrently(many: Sequence[One], ask: Callable[[One], Awaitable[Found]]) -> list[Found]:
    limit = asyncio.Semaphore(_NODES_AT_ONCE)

    async def asked(one: One) -> Found:
        async with limit:
            return await ask(one)

    return list(await asyncio.gather(*(asked(one) for one in many)))


def _gathered(cluster: str, listings: Sequence[Listing]) -> list[Offered]:
    """Each environment once for all nodes where it is the same, including all versions."""
    found: dict[tuple[object, ...], tuple[Environment, list[str]]] = {}
    for listing in listings:
        for one in listing.environments:
            key = (one.kind, one.name, one.path, one.python, tuple(sorted(one.frameworks.items())))
            found.setdefault(key, (one, []))[1].append(listing.node)
    items = [Offered(cluster, environment, tuple(nodes)) for environment, nodes in found.values()]
    return sorted(items, key=lambda item: (item.environment.kind, item.environment.name, item.nodes))


def _free_gpu(context: Context, cluster: str, name: str) -> int | None:
    node = next(one for one in context.nodes(cluster) if one.name == name)
    held = context.clusters[cluster].used(name)[2].keys()
    free = [one.index for one in node.capacity.devices if not one.out_of_service and one.index not in held]
    return free[0] if free else None


def _clusters(context: Context, user: User, cluster: str | None, node: str | None) -> list[str]:
    if cluster is not None:
        return [physical_cluster(context, user, cluster)]
    visible = visible_clusters(context, user)
    if node is None:
        return visible
    homes = [name for name in visible if any(one.name == node for one in context.nodes(name))]
    if not homes:
        raise NotFound(f"there is no node {node!r}", hint="see `muster get nodes`")
    return homes


def _nodes(context: Context, cluster: str, name: str | None) -> list[Node]:
    nodes = context.nodes(cluster)
    if name is None:
        return nodes
    chosen = [node for node in nodes if node.name == name]
    if not chosen:
        raise NotFound(f"cluster {cluster} has no node {name!r}", hint="see `muster get nodes`")
    if not chosen[0].is_reachable:
        raise Conflict(f"node {name} is {chosen[0].state}: {chosen[0].note or 'it does not answer'}")
    return chosen


def _environments(context: Context, cluster: str) -> Environments:
    return required(context.backends[cluster].capabilities.environments, "environments", cluster)


def _unknown(name: str, listings: Mapping[str, Sequence[Listing]]) -> NotFound:
    found = [listing for of_cluster in listings.values() for listing in of_cluster]
    known = list(dict.fromkeys(one.name for listing in found for one in listing.environments))
    guess = nearest(name, known)
    offers = f"there is {', '.join(known[:_NAMES_SHOWN])}" if known else "there is none: see `muster env list`"
    only = next(iter(listings)) if len(listings) == 1 else ""
    message = f"cluster {only} offers no environment {name!r}" if only else f"no cluster offers an environment {name!r}"
    return NotFound(message, hint=f"did you mean {guess}?" if guess else offers)
