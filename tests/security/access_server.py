"""A server with three clusters, one of each kind of backend, which only some users may use."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.integration.api.calling import Caller, ok
from tests.integration.api.people import new_user
from tests.integration.engines.test_engine_server import ROOT, install_plugin
from tests.parts.directory_queue.layout import Layout, write
from tests.parts.directory_queue.site import end_engine, start_engine
from tests.parts.server import MusterServer, polls

GROUP = "insiders"
FAR, BATCH = "farcluster", "batchcluster"
NODE, FOLDER = "farnode", "shownfolder"
HIDDEN = "hiddenfolder"
"""A folder of the cluster local that no plain user may use."""
HIDDEN_GONE = f"{HIDDEN}-gone"
"""Another one, which does not exist on the node, so that there is an alert about it."""
CLUSTERS = ("local", FAR, BATCH)


@dataclass(frozen=True)
class Site:
    server: MusterServer
    admin: Caller
    member: Caller
    outsider: Caller
    queue: Path
    data: Path

    def write(self, name: str, text: str) -> None:
        (self.server.home / "clusters.d" / f"{name}.yaml").write_text(text)

    def restrict(self, access: str, *clusters: str) -> None:
        """Write the files of these clusters, with the same access list."""
        path = self.data.with_name(HIDDEN)
        hidden = ", ".join(
            f"{name}: {{path: {path.with_name(name)}, users: [nobody-here]}}" for name in (HIDDEN, HIDDEN_GONE)
        )
        texts = {
            "local": f"backend: local\nfolders: {{{FOLDER}: {self.data}, {hidden}}}\naccess: {access}\n",
            FAR: f"backend: ssh\naccess: {access}\nnodes: [{{name: {NODE}, host: 127.0.0.1, port: 1}}]\n",
            BATCH: f"backend: directory\nroot: {self.queue}\naccess: {access}\n",
        }
        for name in clusters:
            self.write(name, texts[name])

    def clusters(self, who: Caller) -> set[str]:
        return {cluster["name"] for cluster in ok(who.get("/clusters"))["items"]}


@contextmanager
def access_server(folder: Path) -> Iterator[Site]:
    install_plugin(folder / "plugins")
    layout = Layout(folder / "queue").make()
    write(layout.nodes, {"c1": 2})
    data = folder / "data"
    data.mkdir()
    data.with_name(HIDDEN).mkdir()
    (data / "file").write_text("content")
    home = folder / "home"
    (home / "clusters.d").mkdir(parents=True)
    path = os.pathsep.join([str(folder / "plugins"), str(ROOT)])
    server = MusterServer(home, {"PYTHONPATH": path, "MUSTER_PRIVATE_JOBS": "true"})
    engine = start_engine(layout.root)
    try:
        server.start()
        admin = Caller(server, server.token, "admin")
        member, outsider = new_user(admin, "member"), new_user(admin, "outsider")
        ok(admin.send("PATCH", f"/users/{member.name}", json={"groups": [GROUP]}))
        yield Site(server, admin, member, outsider, layout.root, data)
    finally:
        server.stop()
        end_engine(engine, layout)


def until(condition: Callable[[], object], within_s: float = 180.0) -> None:
    for _ in polls(within_s):
        if condition():
            return
    raise AssertionError("it did not come true")
