"""The checks of `muster doctor`: this machine, the connection to the server, and its nodes.

A check returns findings and never raises, because its purpose is to report what is broken.
"""

import os
import shutil
import stat
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from email.utils import parsedate_to_datetime
from pathlib import Path
from time import time

from muster.cli.access_names import unknown_names
from muster.cli.failures import hint_of
from muster.client import contexts
from muster.client.client import Client
from muster.client.errors import MusterError
from muster.client.node_views import ClusterView, NodeView
from muster.client.transport import Request, Timeouts
from muster.lib.quantities import about_bytes
from muster.version import __version__

_LITTLE_DISK_BYTES = 1 << 30
_VERY_LITTLE_DISK_BYTES = 100 << 20
_SKEW_S = 5.0
_OLDEST_PYTHON = (3, 11)
_OF_SERVER = {"secrets": "secrets", "home": "server home"}
"""The names of findings for problems of the server that are in no file, by the path of the problem."""
_PROGRAMS = {
    "sh": ("fail", "Muster starts tasks with it; install a POSIX shell"),
    "ps": ("warn", "install procps to inspect tasks manually"),
    "git": ("warn", "install git to record the version of a job's code"),
}


@dataclass(frozen=True, slots=True)
class Finding:
    """`status` is ok, warn or fail. `mend` says how to fix a warning or a failure."""

    name: str
    status: str
    message: str
    mend: str = ""

    def as_dict(self) -> dict[str, str]:
        return asdict(self)


def examine(server: str | None, context: str | None) -> list[Finding]:
    findings = [_python(), *_home(contexts.home()), *_programs()]
    try:
        chosen = contexts.resolve(server, None, context)
    except MusterError as error:
        return [*findings, Finding("context", "fail", error.message, error.hint)]
    findings.append(_context(chosen))
    client = Client(server, context=context, timeouts=Timeouts(3.0, 5.0))
    return [*findings, *_server(client)]


def _python() -> Finding:
    version = ".".join(str(part) for part in sys.version_info[:3])
    if sys.version_info[:2] < _OLDEST_PYTHON:
        return Finding("python", "fail", f"{version} is too old", "install Python 3.11 or newer")
    return Finding("python", "ok", f"{version} at {sys.executable}")


def _home(home: Path) -> Iterator[Finding]:
    if not home.exists():
        yield Finding("home", "warn", f"{home} does not exist yet", "`muster up` or `muster login` creates it")
        return
    if not os.access(home, os.W_OK | os.X_OK):
        yield Finding("home", "fail", f"{home} is not writable", f"become its owner: chown -R $USER {home}")
        return
    file = contexts.context_file()
    if file.exists() and stat.S_IMODE(file.stat().st_mode) & 0o077:
        yield Finding("home", "fail", f"others can read the token in {file}", f"chmod 600 {file}")
    elif stat.S_IMODE(home.stat().st_mode) & 0o077:
        yield Finding("home", "warn", f"others can look into {home}", f"chmod 700 {home}")
    else:
        yield Finding("home", "ok", str(home))
    free = shutil.disk_usage(home).free
    if free < _VERY_LITTLE_DISK_BYTES:
        yield Finding(
            "disk", "fail", f"only {about_bytes(free)} free under {home}", "free some space or move MUSTER_HOME"
        )
    elif free < _LITTLE_DISK_BYTES:
        yield Finding(
            "disk", "warn", f"only {about_bytes(free)} free under {home}", "free some space for logs and packages"
        )
    else:
        yield Finding("disk", "ok", f"{about_bytes(free)} free under {home}")


def _programs() -> Iterator[Finding]:
    for name, (status, mend) in _PROGRAMS.items():
        path = shutil.which(name)
        yield Finding(name, "ok", path) if path else Finding(name, status, "not found on the PATH", mend)


def _context(chosen: contexts.Context) -> Finding:
    if chosen.token:
        user = f" as {chosen.user}" if chosen.user else ""
        return Finding("context", "ok", f"{chosen.addresses}{user}")
    return Finding("context", "warn", f"no token for {chosen.addresses}", "log in with `muster login`")


def _server(client: Client) -> Iterator[Finding]:
    try:
        connection, response = client.transport.open(Request("GET", "/healthz"))
        server_time = response.headers.get("Date")
        connection.close()
    except MusterError as error:
        yield Finding("server", "fail", error.message, error.hint)
        return
    except Exception as error:  # a broken network or another kind of server can answer anything
        lost = client.transport.lost(error)
        yield Finding("server", "fail", lost.message, lost.hint)
        return
    yield Finding("server", "ok", f"{client.server} answers")
    try:
        who = client.whoami()
    except MusterError as error:
        yield Finding("token", "fail", error.message, hint_of(error))
        return
    yield from _clock(server_time)
    yield Finding("token", "ok", f"valid: {who['user']} ({who['role']})")
    yield _version(who["server"]["version"])
    yield from _clusters(client, who["role"])
    if who["role"] == "admin":
        yield from _log_server(client)
        yield from _alert_rules(client)
    yield from _configuration(client)


def _clusters(client: Client, role: str) -> Iterator[Finding]:
    try:
        clusters, nodes = client.clusters(), client.nodes()
        virtual = [] if clusters else [vc.name for vc in client.virtual_clusters().items]
    except MusterError as error:
        yield Finding("nodes", "fail", error.message, error.hint)
        return
    if virtual:
        yield Finding("clusters", "ok", f"only virtual ones are offered here: {', '.join(virtual)}")
        return
    if not clusters and role == "admin":
        yield Finding("clusters", "fail", "every cluster is switched off", "remove `enabled: false` from its file")
        return
    if not clusters:
        yield Finding("clusters", "fail", "you may use no cluster of this server", "ask an admin for access")
        return
    yield from _nodes(nodes)
    yield from _isolation(clusters)
    for cluster in clusters:
        for note in cluster.notes:
            yield Finding(f"cluster {cluster.name}", "warn", note, f"see the guide to {cluster.backend} clusters")
    try:
        for name, why in unknown_names(client, clusters):
            yield Finding(f"access {name}", "warn", why, "correct `access` in the cluster's file, or add the user")
    except MusterError as error:
        yield Finding("access", "warn", error.message, error.hint)


def _log_server(client: Client) -> Iterator[Finding]:
    """Only if the server has one, and is new enough to say so. The server that acts sends the records."""
    try:
        found = client.server_health(of_acting=True).get("logServer")
    except MusterError as error:
        yield Finding("server health", "warn", error.message, error.hint)
        return
    if not found:
        return
    waiting = f"{found['waiting']} records wait"
    lost = f", {found['dropped']} were dropped" if found["dropped"] else ""
    if found["problem"]:
        mend = "start it, or correct logServer in the server's settings; records are sent when it answers"
        yield Finding("log server", "warn", f"{found['address']} {found['problem']}; {waiting}{lost}", mend)
    elif found["dropped"] or found["refused"]:
        message = f"{found['address']} takes records; {found['refused']} were refused{lost}"
        yield Finding("log server", "warn", message, "see the server's log; what is missing there stays missing")
    else:
        yield Finding("log server", "ok", f"{found['address']} takes records")


def _alert_rules(client: Client) -> Iterator[Finding]:
    try:
        problems = client.alert_file_problems()
    except MusterError as error:
        yield Finding("alert rules", "warn", error.message, error.hint)
        return
    for problem in problems:
        yield Finding("alert rules", "warn", problem, "until it is corrected, the rules of before hold")


def _isolation(clusters: list[ClusterView]) -> Iterator[Finding]:
    for cluster in clusters:
        given = cluster.isolation
        if given is None or given["mode"] is None:
            continue
        name, mode, why = f"isolation {cluster.name}", given["mode"], given["why"]
        if mode == "none":
            is_wanted = "file says so" in why
            mend = "remove `isolation: none`" if is_wanted else "run the agent as root or allow user namespaces"
            mend += "; until then let in only users who trust each other"
            yield Finding(name, "warn", f"tasks of different users can reach each other and the server: {why}", mend)
        elif why:
            yield Finding(name, "fail", f"{mode}, but {why}", "change `isolation` in the cluster's file")
        else:
            yield Finding(name, "ok", f"tasks of different users are isolated by {mode}")
        for gap in given.get("gaps", ()):
            yield Finding(name, "warn", gap, "see the guide to isolation")


def _configuration(client: Client) -> Iterator[Finding]:
    """Admins see what is wrong with cluster files, plugins, secrets and the server's home; others do not."""
    try:
        problems = client.virtual_clusters().problems
    except MusterError as error:
        yield Finding("clusters", "warn", error.message, error.hint)
        return
    for problem in problems:
        name = "" if problem.file else _OF_SERVER.get(problem.path, "")
        if name:
            yield Finding(name, "warn", problem.message, problem.hint)
        else:
            yield Finding("clusters", "warn", str(problem), "the server goes on without it")


def _clock(date_header: str | None) -> Iterator[Finding]:
    """Compares this machine's clock with the Date header of the server's answer, if there is one."""
    try:
        there = parsedate_to_datetime(date_header or "").timestamp()
    except ValueError:
        return
    skew = time() - there
    if abs(skew) > _SKEW_S:
        late = "ahead of" if skew > 0 else "behind"
        yield Finding("clock", "warn", f"{abs(skew):.0f} s {late} the server's", "run an NTP client on both")
    else:
        yield Finding("clock", "ok", "agrees with the server's")


def _version(server: str) -> Finding:
    if server == __version__:
        return Finding("version", "ok", f"{__version__} on both sides")
    mend = "install the same version on both"
    return Finding("version", "warn", f"this command is {__version__}, the server {server}", mend)


def _nodes(nodes: list[NodeView]) -> Iterator[Finding]:
    if not nodes:
        yield Finding("nodes", "fail", "the server has no nodes", "look at its log for the reason")
    names = [node.name for node in nodes]
    for node in nodes:
        name = f"node {node.name}" + (f" of {node.cluster}" if names.count(node.name) > 1 else "")
        capacity = f"{node.cpu_total:g} cores, {about_bytes(node.memory_total)}, {_gpus(node)}"
        if node.state != "Ready":
            why = node.note or "look at the server's log for the reason"
            yield Finding(name, "fail", f"{node.state}; {capacity}", why)
        elif node.note:
            yield Finding(name, "warn", f"Ready; {capacity}", node.note)
        else:
            yield Finding(name, "ok", f"Ready; {capacity}, memory limits enforced")


def _gpus(node: NodeView) -> str:
    if not node.gpus:
        return "no GPU seen"
    models = sorted({str(gpu.get("model")) for gpu in node.gpus})
    return f"{len(node.gpus)} GPU ({', '.join(models)})"
