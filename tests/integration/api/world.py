"""The things that calls are about, each made when a test needs it. Held jobs cost no process."""

import hashlib
import json
from functools import cached_property
from pathlib import Path
from typing import Any

import httpx

from tests.integration.api.calling import Caller, ok
from tests.integration.api.people import PASSWORD, People, new_user, unique
from tests.parts.passable import open_to_all
from tests.parts.server import polls

QUIET = {"command": "true", "hold": True}
PACKAGE = b"not really an archive"


class World:
    def __init__(self, people: People) -> None:
        self.people = people

    def thing(self, kind: str) -> str:
        return str(getattr(self, f"_{kind}")())

    def _worker(self) -> str:
        return "worker-0"

    def filled(self, value: Any) -> Any:
        """The value with `{owner}` and the like replaced."""
        if isinstance(value, dict):
            return {key: self.filled(inner) for key, inner in value.items()}
        if isinstance(value, list):
            return [self.filled(inner) for inner in value]
        if isinstance(value, str) and value.startswith("{"):
            return self.thing(value.strip("{}"))
        return value

    @cached_property
    def ran_job(self) -> str:
        job = self.people.owner.submit({"name": unique("ran"), "command": "echo hello | tee said", "outputs": ["said"]})
        self.people.server.wait(job["id"])
        return str(job["id"])

    @cached_property
    def private_virtual_cluster(self) -> str:
        """One that only the owner may use."""
        name = unique("vc")
        file = self.people.server.home / "clusters.d" / f"{name}.yaml"
        file.write_text(f"name: {name}\nusers: [{self.people.owner.name}]\nuserLimits: {{runningGpus: 4}}\n")
        for _ in polls(20):
            if self.people.admin.get(f"/virtual-clusters/{name}").status_code == 200:
                return name
        raise AssertionError("the virtual cluster was not read")

    @cached_property
    def private_folder(self) -> Path:
        """A folder on the nodes, which only the owner may use."""
        path = self.people.server.home.parent / "folders" / "shown"  # the home itself stays closed
        path.mkdir(parents=True, exist_ok=True)
        open_to_all(path)
        file = self.people.server.home / "clusters.d" / "local.yaml"
        folder = {"path": str(path), "users": [self.people.owner.name]}
        file.write_text(json.dumps({"name": "local", "backend": "local", "folders": {"shown": folder}}))
        for _ in polls(20):
            if ok(self.people.owner.get("/clusters/local/files/folders"))["items"]:
                return path
        raise AssertionError("the folder was not read")

    @cached_property
    def uploaded(self) -> str:
        digest = hashlib.sha256(PACKAGE).hexdigest()
        ok(self.people.owner.send("PUT", f"/packages/{digest}", params={"size": len(PACKAGE)}, content=PACKAGE))
        return digest

    def upload(self, who: Caller) -> httpx.Response:
        """A package of its own, whole."""
        data = unique("package").encode()
        digest = hashlib.sha256(data).hexdigest()
        return who.send("PUT", f"/packages/{digest}", params={"size": len(data)}, content=data)

    def _held(self) -> str:
        return str(self.people.owner.submit({"name": unique("held"), **QUIET})["id"])

    def _ended(self) -> str:
        job = self._held()
        ok(self.people.owner.post(f"/jobs/{job}/kill"), 202)
        return job

    def _topics(self) -> str:
        return f"jobs,nodes,queue,job:{self.ran_job}"

    def _ran(self) -> str:
        return self.ran_job

    def _output(self) -> str:
        for _ in polls(20):
            if ok(self.people.owner.get(f"/jobs/{self.ran_job}/outputs"))["complete"]:
                return "said"
        raise AssertionError("the outputs were not brought back")

    def _package(self) -> str:
        return self.uploaded

    def _cluster(self) -> str:
        assert self.private_folder
        return "local"

    def _folder(self) -> str:
        return self.private_folder.name

    def _file(self) -> str:
        name = unique("file")
        (self.private_folder / name).write_text(name)
        return f"{self._folder()}/{name}"

    def _new_file(self) -> str:
        return f"{self._folder()}/{unique('new')}"

    def _begun_file(self) -> str:
        """Put halfway, by everybody who may."""
        path = self._new_file()
        for somebody in (self.people.owner, self.people.admin):
            query = {"path": path, "size": 9, "sha256": "0" * 64}
            ok(somebody.send("PUT", "/clusters/local/files/content", params=query, content=b"12"))
        return path

    def _digest(self) -> str:
        return hashlib.sha256(unique("piece").encode()).hexdigest()

    def _node(self) -> str:
        return str(ok(self.people.owner.get("/nodes"))["items"][0]["name"])

    def _portal_file(self) -> str:
        return "icon.svg"

    def _new_cluster(self) -> str:
        return unique("cluster")

    def _added_node(self) -> str:
        name = unique("node")
        body = {"name": name, "ssh": "nobody@127.0.0.1:1"}
        ok(self.people.admin.post(f"/clusters/{self._new_cluster()}/nodes", body), 201)
        return name

    def _joining_node(self) -> str:
        """One that the server has taken in."""
        name = self._added_node()
        for _ in polls(20):
            if self.people.admin.get(f"/nodes/{name}").status_code == 200:
                return name
        raise AssertionError("the node was not taken in")

    def _virtual_cluster(self) -> str:
        return self.private_virtual_cluster

    def _owner(self) -> str:
        return self.people.owner.name

    def _owner_token(self) -> str:
        return self.people.owner.token

    def _password(self) -> str:
        return PASSWORD

    def _template(self) -> str:
        name = unique("template")
        body = {"files": {"job.yaml": "name: a\ncommand: 'true'\n"}}
        ok(self.people.owner.send("PUT", f"/templates/{name}", json=body), 201)
        return name

    def _silence(self) -> str:
        return str(
            ok(self.people.admin.post("/alerts/silences", {"rule": "LogServerNotReachable", "for": "1m"}), 201)["id"]
        )

    def _open_sweep(self) -> str:
        """Its members wait for a held job."""
        spec = {"name": unique("sweep"), "command": "true", "after": [self._held()], "sweep": {"seeds": 2}}
        return str(ok(self.people.owner.post("/sweeps", {"spec": spec}), 201)["id"])

    def _sweep(self) -> str:
        return self._open_sweep()

    def _model(self) -> str:
        body = {"job": self.ran_job, "path": self._output(), "name": unique("model")}
        return str(ok(self.people.owner.post("/models", body), 201)["id"])

    def _cluster_with_history(self) -> str:
        """One on which a job of the owner has run, and no simulation runs."""
        assert self.ran_job
        for one in ok(self.people.admin.get("/simulations"))["items"]:
            self.people.admin.send("DELETE", f"/simulations/{one['id']}")
        return "local"

    def _simulation(self) -> str:
        return str(ok(self.people.owner.post("/simulations", {"cluster": self._cluster_with_history()}), 202)["id"])

    def _new_cluster_file(self) -> str:
        return f"{unique('cluster')}.yaml"

    def _cluster_file(self) -> str:
        name = self._new_cluster_file()
        text = f"name: {unique('vc')}\n"
        ok(self.people.admin.send("PUT", f"/cluster-files/{name}", json={"text": text}))
        return name

    def _secret(self) -> str:
        name = unique("secret")
        ok(self.people.owner.send("PUT", f"/secrets/{name}", content=b"hunter2"), 201)
        return name

    def _fresh(self) -> str:
        return unique("fresh")

    def _victim(self) -> str:
        return new_user(self.people.admin, "victim", password=None).name

    def _linked(self) -> str:
        """A user who is somebody at an identity provider."""
        name = self._victim()
        body = {"issuer": "https://id.example.org", "subject": name}
        ok(self.people.admin.post(f"/users/{name}/identities", body), 201)
        return name

    def _token(self) -> str:
        return str(ok(self.people.owner.post("/tokens", {"name": "victim"}), 201)["id"])
