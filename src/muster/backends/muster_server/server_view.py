"""What is known of the other server: who it is, what its cluster has, and the jobs that it was given."""

from dataclasses import dataclass, field

from muster.backends.muster_server.answers import ToldClusters, ToldJobs, ToldNodes, ToldVirtualClusters
from muster.backends.muster_server.capacity import Place, find_place, nodes_of, pool_of, unreachable
from muster.backends.muster_server.connection import ANSWER_S, OtherServer
from muster.backends.muster_server.observing import OtherJob, read_jobs
from muster.backends.muster_server.options import OtherServerOptions
from muster.backends.muster_server.submission import Way
from muster.domain.nodes import Node
from muster.domain.pools import Pool

UNASKED = "the other Muster server has not answered yet"


@dataclass(slots=True)
class ServerView:
    """`problem` says why the pool is not known; it is empty if the pool is."""

    cluster: str
    installation: str = ""
    user: str = ""
    reaches: frozenset[str] = frozenset()
    tag: str = ""
    jobs: dict[str, OtherJob] = field(default_factory=dict)
    nodes: list[Node] = field(default_factory=list)
    pool: Pool | None = None
    problem: str = UNASKED
    is_circle: bool = False
    """Whether jobs would come back to this server."""

    @property
    def all_reached(self) -> frozenset[str]:
        return self.reaches | {self.installation} if self.installation else self.reaches

    def take_jobs(self, told: ToldJobs) -> None:
        self.installation, self.user, self.reaches, self.tag = told.installation, told.user, told.reaches, told.tag
        self.jobs = read_jobs(told.items)

    def lose(self, why: str) -> None:
        """The other server does not answer. Its nodes are shown as they were."""
        self.pool, self.problem, self.tag = None, why, ""
        self.nodes = [unreachable(node, why) for node in self.nodes]


async def ask_jobs(server: OtherServer, way: Way, *, known: str = "", wait_s: float = 0.0) -> ToldJobs:
    """All jobs that were handed on by this cluster. With `known` and `wait_s`, when they are not as they were. Raises
    Unreachable also if the server is too old to be handed jobs."""
    params: dict[str, str | int | float] = {"server": way.own, "cluster": way.name}
    if known:
        params |= {"known": known, "wait": wait_s}
    answer = await server.request("GET", "/jobs:handed-on", params=params, within_s=wait_s + ANSWER_S)
    return answer.read(ToldJobs)


async def ask_capacity(server: OtherServer, view: ServerView, options: OtherServerOptions) -> None:
    """Learn what the cluster there has. What is wrong with it is in `view.problem` then."""
    virtual = (await server.get(ToldVirtualClusters, "/virtual-clusters")).items
    physical = (await server.get(ToldClusters, "/clusters")).items
    place = find_place(options.cluster, virtual, physical)
    if not isinstance(place, Place):
        view.lose(place)
        return
    told = (await server.get(ToldNodes, "/nodes", {"cluster": place.physical})).items
    jobs = list(view.jobs.values())
    view.nodes = nodes_of(view.cluster, told, jobs)
    view.pool, view.problem = pool_of(place, told, jobs, options.head_start), ""


def circle(view: ServerView, own: str, servers: str) -> str:
    """Says that jobs would come back to this server, if they would."""
    if view.installation == own:
        return f"{servers} is this server itself, and jobs would go in circles: name another server, or remove the file"
    if own in view.reaches:
        return (
            f"{servers} hands jobs on to this server, directly or by way of others, and jobs would go in circles: "
            "remove the cluster file with `backend: muster` here or there"
        )
    return ""
