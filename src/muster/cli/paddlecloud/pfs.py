"""Datacenters and paths `/pfs/DATACENTER/...`, and what they are on a server of Muster.

A datacenter is the cluster of that name. Its users call it as they like in `~/.paddle/config`, so that one which no
cluster is called like means the server's default cluster. `/pfs/DATACENTER/home/USER/x` is `CLUSTER:home/USER/x`, and
`/pfs/DATACENTER/public/x` is `CLUSTER:public/x`: the cluster's file has folders of these names.
"""

import re
from dataclasses import replace

from muster.cli.paddlecloud.session import Session
from muster.client.errors import BAD_INPUT, MusterError
from muster.client.files import RemotePath

_PFS = re.compile(r"/pfs/+([^/:]+)/+(home/+[^/]+|public)(?:/(.*))?", re.DOTALL)


def is_pfs(text: str) -> bool:
    return text.startswith("/pfs/")


def remote(text: str, session: Session) -> RemotePath:
    """Raises MusterError for what is no such path, or if the server has no such datacenter."""
    found = _PFS.fullmatch(text)
    rest = "" if found is None else f"{found[2]}/{found[3] or ''}"
    parts = [part for part in rest.split("/") if part not in ("", ".")]
    if found is None or ".." in parts:
        raise MusterError(
            f"{text!r} is not a path of a datacenter",
            code=BAD_INPUT,
            hint="it looks like /pfs/DATACENTER/home/USER/data or /pfs/DATACENTER/public/data",
        )
    return RemotePath(cluster_of(found[1], session), "/".join(parts))


def make_home(where: RemotePath, session: Session) -> None:
    """The home of a person is made when they first write to it, and is for them alone."""
    folder, _, below = where.path.partition("/")
    home = replace(where, path=f"{folder}/{below.partition('/')[0]}")
    if folder == "home" and session.client.files.find(home) is None:
        session.client.files.mkdir(home, parents=True, private=True)


def cluster_of(datacenter: str, session: Session) -> str:
    clusters = session.client.clusters()
    if any(cluster.name == datacenter for cluster in clusters):
        return datacenter
    default = next((cluster.name for cluster in clusters if cluster.default), None)
    if datacenter == session.datacenter and default is not None:
        return default
    names = ", ".join(cluster.name for cluster in clusters) or "none"
    raise MusterError(f"the server has no datacenter {datacenter!r}", code=BAD_INPUT, hint=f"its clusters are {names}")
