"""Asks another Muster server whether jobs could be handed on to it, for `muster cluster check --connect`."""

import asyncio

from muster.backends.kinds import Examination
from muster.backends.muster_server.answers import ToldUser
from muster.backends.muster_server.connection import OtherServer
from muster.backends.muster_server.options import OtherServerOptions, other_server_options
from muster.backends.muster_server.server_view import ServerView, ask_capacity, ask_jobs
from muster.backends.muster_server.submission import Way
from muster.domain.clusters import PhysicalCluster
from muster.domain.errors import MusterError
from muster.domain.installations import installation_of

_NOBODY = installation_of("muster cluster check")
_WRITING = ("submit", "admin")


def examine(cluster: PhysicalCluster) -> Examination:
    options = other_server_options(cluster)
    try:
        return asyncio.run(_examine(cluster, options))
    except MusterError as error:
        hint = f" ({error.hint})" if error.hint else ""
        return Examination(failures=[f"{error.message}{hint}"])


async def _examine(cluster: PhysicalCluster, options: OtherServerOptions) -> Examination:
    server, view = OtherServer(options), ServerView(cluster.name)
    try:
        view.take_jobs(await ask_jobs(server, Way(_NOBODY, cluster.name, options.cluster)))
        scope = (await server.get(ToldUser, "/whoami")).scope or "admin"
        await ask_capacity(server, view, options)
    finally:
        await server.close()
    if view.problem:
        return Examination(failures=[view.problem])
    if scope not in _WRITING:
        why = f"the token in {options.token_file} has the scope {scope}, and jobs need `submit`"
        return Examination(failures=[why])
    note = f"server {view.installation} at {options.shown_servers} takes its jobs, as jobs of {view.user}"
    return Examination(notes=[note])
