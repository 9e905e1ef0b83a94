"""Who may call what: every route and method, for the owner of the thing, another user and an admin.

Whoever is not logged in (nobody, a disabled user, an expired or revoked token) is refused everywhere with 401, but for
the rows that are open to all. A new route fails a test until it has a row here.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

API = "/api/v1"


@dataclass(frozen=True)
class Row:
    method: str
    route: str
    owner: int
    other: int
    admin: int
    private: int | None = None
    """What another user is answered when jobs are private, where that differs."""
    given: Mapping[str, str] = field(default_factory=dict)
    """Which thing stands for which part of the path; see `World`."""
    body: Any = None
    query: Mapping[str, Any] = field(default_factory=dict)
    piece: bytes | None = None
    open_to_all: bool = False
    own_token: bool = False
    """The call ends the token it is made with."""
    is_stream: bool = False
    """The answer does not end."""

    @property
    def title(self) -> str:
        return f"{self.method} {self.route}"


def _job(method: str, rest: str, ref: str, owner: int, other: int, **more: Any) -> Row:
    """A call on one job. Admins may what owners may; a private job is not there for others."""
    return Row(method, f"{API}/jobs/{{ref}}{rest}", owner, other, owner, 404, {"ref": ref}, **more)


def _file(method: str, rest: str, **more: Any) -> Row:
    """A call on a folder that only its owner may use: for others it is not there."""
    done = {("POST", "/mkdir"): 201, ("DELETE", "/upload"): 204}.get((method, rest), 200)
    return Row(method, f"{API}/clusters/{{cluster}}/files{rest}", done, 404, done, given={"cluster": "cluster"}, **more)


_PIECE = b"12"
_SENT = {"path": "{new_file}", "size": len(_PIECE), "sha256": hashlib.sha256(_PIECE).hexdigest()}
_HELD = {"name": "{fresh}", "command": "true", "hold": True}

_REPORTED = {"points": [{"name": "loss", "step": 1, "at": "2024-01-02T03:04:05Z", "value": "NaN"}]}
_ENDED = {
    "id": "{fresh}",
    "spec": _HELD,
    "state": "Succeeded",
    "createdAt": "2024-01-02T03:04:05Z",
    "endedAt": "2024-01-02T04:04:05Z",
}

_TEMPLATE = {"files": {"job.yaml": "name: a\ncommand: 'true'\n"}, "description": "another version"}
_SWEEP = {"name": "{fresh}", "command": "true", "sweep": {"seeds": 2}}
_MODEL_FILE = {"ref": "model", "path": "output"}
_FAR_NODE = {"name": "{fresh}", "ssh": "nobody@127.0.0.1:1"}
"""Nothing answers there."""

_CLUSTER_FILE = {"text": "backend: ssh\nnodes: [{name: far, host: 127.0.0.1, port: 1}]\n"}

_UNSIGNED = {"expires": 1, "signature": "wrong"}
"""A signed address needs no token; without the server's signature it is refused, whoever asks."""

_OF_PROVIDERS = (
    ("GET", "/login/sso"),
    ("GET", "/login/sso/callback"),
    ("POST", "/login/sso/confirm"),
    ("POST", "/login/device"),
    ("POST", "/login/device/{login_id}"),
)


def _without_provider(method: str, route: str) -> Row:
    """This server has no identity provider, whoever asks."""
    body: Any = {} if "{login_id}" in route else None
    given = {"login_id": "fresh"} if "{login_id}" in route else {}
    return Row(method, f"{API}{route}", 404, 404, 404, given=given, body=body, open_to_all=True)


TABLE = (
    Row("POST", f"{API}/jobs", 201, 201, 201, body={"spec": _HELD}),
    Row("POST", f"{API}/jobs:bulk", 201, 201, 201, body={"specs": [_HELD]}),
    Row("POST", f"{API}/jobs:import", 403, 403, 201, body={"source": "elsewhere", "jobs": [_ENDED]}),
    Row("POST", f"{API}/jobs:translate", 200, 200, 200, body={"spec": _HELD}),
    Row("GET", f"{API}/jobs", 200, 200, 200),
    Row("POST", f"{API}/jobs:handed-on", 400, 400, 400, body={"spec": _HELD}),
    Row("GET", f"{API}/jobs:handed-on", 200, 200, 200, query={"server": "0" * 16, "cluster": "far"}),
    Row("DELETE", f"{API}/jobs:handed-on/{{ref}}", 204, 403, 204, 404, {"ref": "ended"}),
    Row("GET", f"{API}/requests/{{key}}", 404, 404, 404, given={"key": "fresh"}),
    _job("GET", "", "held", 200, 200),
    _job("GET", "/tasks", "ran", 200, 200),
    _job("GET", "/usage", "ran", 200, 200),
    _job("GET", "/metrics", "ran", 200, 403),
    _job("POST", "/metrics", "ran", 200, 403, body=_REPORTED),
    _job("GET", "/stacks", "ran", 200, 403),
    _job("POST", "/stacks", "ran", 409, 403),
    _job("GET", "/usage/history", "ran", 200, 200),
    _job("GET", "/wait", "ended", 200, 200),
    _job("GET", "/events", "ran", 200, 200),
    _job("GET", "/spec", "held", 200, 403),
    _job("GET", "/diff", "held", 200, 403, query={"with": "{ran}"}),
    Row("GET", f"{API}/jobs/{{ref}}/tasks/{{task}}/environment", 200, 403, 200, 404, {"ref": "ran", "task": "worker"}),
    _job("GET", "/explain", "held", 200, 403),
    _job("GET", "/logs", "ran", 200, 403),
    _job("GET", "/logs/raw", "ran", 200, 403, query={"task": "worker-0"}),
    _job("GET", "/logs/chunk", "ran", 200, 403, query={"task": "worker-0"}),
    _job("GET", "/logs/lines", "ran", 200, 403, query={"worker": "worker-0"}),
    _job("GET", "/logs/search", "ran", 200, 403, query={"q": "text"}),
    _job("GET", "/exec", "ran", 426, 403),
    _job("GET", "/port-forward", "ran", 426, 403),
    _job("POST", "/page", "ran", 201, 403, body={"port": 8888}),
    _job("GET", "/attach", "ran", 426, 403),
    _job("GET", "/outputs", "ran", 200, 403),
    Row("GET", f"{API}/jobs/{{ref}}/outputs/{{path}}", 200, 403, 200, 404, {"ref": "ran", "path": "output"}),
    _job("POST", "/kill", "held", 202, 403, body={}),
    _job("POST", "/stop-tasks", "ran", 202, 403, body={"tasks": ["worker-0"]}),
    _job("POST", "/hold", "held", 200, 403),
    _job("POST", "/resume", "held", 200, 403),
    _job("POST", "/bump", "held", 200, 403, body={"priority": "high"}),
    _job("POST", "/move", "held", 200, 403, body={"to": "local"}),
    _job("POST", "/change", "held", 200, 403, body={"set": {"timeLimit": "1h"}}),
    _job("POST", "/retry", "ended", 201, 403),
    _job("DELETE", "", "ended", 204, 403),
    Row("GET", f"{API}/events", 200, 200, 200),
    Row("GET", f"{API}/audit", 200, 200, 200),
    Row("GET", f"{API}/live", 200, 200, 200, 404, query={"topics": "{topics}"}, is_stream=True),
    Row("GET", f"{API}/clusters", 200, 200, 200),
    Row("GET", f"{API}/virtual-clusters", 200, 200, 200),
    Row("GET", f"{API}/virtual-clusters/{{name}}", 200, 404, 200, given={"name": "virtual_cluster"}),
    Row("GET", f"{API}/quotas", 200, 403, 200, query={"user": "{owner}"}),
    Row("GET", f"{API}/nodes", 200, 200, 200),
    Row("GET", f"{API}/nodes/{{name}}", 200, 200, 200, given={"name": "node"}),
    Row("GET", f"{API}/nodes/{{name}}/usage", 200, 200, 200, given={"name": "node"}),
    Row("POST", f"{API}/clusters/{{cluster}}/nodes", 403, 403, 201, given={"cluster": "new_cluster"}, body=_FAR_NODE),
    Row("GET", f"{API}/cluster-files", 403, 403, 200),
    Row("GET", f"{API}/cluster-files/{{name}}", 403, 403, 200, given={"name": "cluster_file"}),
    Row("PUT", f"{API}/cluster-files/{{name}}", 403, 403, 200, given={"name": "new_cluster_file"}, body=_CLUSTER_FILE),
    Row("DELETE", f"{API}/cluster-files/{{name}}", 403, 403, 200, given={"name": "cluster_file"}),
    Row("DELETE", f"{API}/nodes/{{name}}", 403, 403, 204, given={"name": "added_node"}),
    *(
        Row("POST", f"{API}/nodes/{{name}}/{what}", 403, 403, 200, given={"name": "joining_node"}, body=body)
        for what, body in (("cordon", {"reason": "loud"}), ("uncordon", None), ("drain", {}), ("reconnect", None))
    ),
    Row("POST", f"{API}/nodes/{{name}}/exec", 403, 403, 200, given={"name": "node"}, body={"command": ["true"]}),
    Row("GET", f"{API}/usage", 200, 200, 200),
    Row("GET", f"{API}/experiments", 200, 200, 200),
    Row("GET", f"{API}/experiments/best", 200, 200, 200, query={"metric": "loss"}),
    Row("GET", f"{API}/alerts", 200, 200, 200),
    Row("GET", f"{API}/report", 200, 200, 200),
    Row("GET", f"{API}/history", 200, 200, 200),  # these servers have no log server
    Row("GET", f"{API}/history/{{receiver}}/{{job_id}}", 404, 404, 404, given={"receiver": "fresh", "job_id": "fresh"}),
    Row("GET", f"{API}/queue", 200, 200, 200),
    Row("GET", f"{API}/schedule", 200, 200, 200),
    Row("POST", f"{API}/simulations", 202, 202, 202, 422, body={"cluster": "{cluster_with_history}"}),
    Row("GET", f"{API}/simulations", 200, 200, 200),
    Row("GET", f"{API}/simulations/{{simulation_id}}", 200, 404, 200, given={"simulation_id": "simulation"}),
    Row("DELETE", f"{API}/simulations/{{simulation_id}}", 204, 404, 204, given={"simulation_id": "simulation"}),
    Row("GET", f"{API}/environments", 200, 200, 200),
    Row("GET", f"{API}/environments:packages", 404, 404, 404, query={"name": "no-such-environment"}),
    Row("POST", f"{API}/environments:test", 404, 404, 404, body={"name": "no-such-environment"}),
    Row("GET", f"{API}/clusters/{{cluster}}/files/folders", 200, 200, 200, given={"cluster": "cluster"}),
    _file("GET", "", query={"path": "{folder}"}),
    _file("GET", "/stat", query={"path": "{file}"}),
    _file("GET", "/content", query={"path": "{file}"}),
    _file("PUT", "/content", query=_SENT, piece=_PIECE),
    _file("GET", "/upload", query={"path": "{begun_file}", "sha256": "0" * 64}),
    _file("DELETE", "/upload", query={"path": "{begun_file}", "sha256": "0" * 64}),
    _file("GET", "/digest", query={"path": "{file}"}),
    _file("GET", "/usage", query={"path": "{folder}"}),
    _file("POST", "/mkdir", body={"path": "{new_file}"}),
    _file("POST", "/move", body={"path": "{file}", "to": "{new_file}"}),
    _file("POST", "/copy", body={"path": "{file}", "to": "{new_file}"}),
    _file("DELETE", "", query={"path": "{file}"}),
    Row("GET", f"{API}/packages/{{digest}}", 200, 404, 404, given={"digest": "package"}),
    Row("GET", f"{API}/packages/{{digest}}/content", 200, 404, 200, given={"digest": "package"}),
    Row("PUT", f"{API}/packages/{{digest}}", 200, 200, 200, given={"digest": "digest"}, query={"size": 9}, piece=b"12"),
    Row("GET", f"{API}/whoami", 200, 200, 200),
    Row(
        "GET",
        f"{API}/archives/{{digest}}",
        403,
        403,
        403,
        given={"digest": "package"},
        query=_UNSIGNED,
        open_to_all=True,
    ),
    Row("POST", f"{API}/login", 200, 200, 200, body={"token": "{owner_token}"}, open_to_all=True),
    Row("GET", f"{API}/login", 200, 200, 200, open_to_all=True),
    *(_without_provider(method, route) for method, route in _OF_PROVIDERS),
    Row("POST", f"{API}/login/link", 201, 201, 201),
    Row("POST", f"{API}/logout", 204, 204, 204, own_token=True),
    Row("GET", f"{API}/users", 200, 200, 200),
    Row("POST", f"{API}/users", 403, 403, 201, body={"name": "{fresh}"}),
    Row(
        "PATCH",
        f"{API}/users/{{name}}",
        200,
        403,
        200,
        given={"name": "owner"},
        body={"password": "{password}", "oldPassword": "{password}"},
    ),
    Row("DELETE", f"{API}/users/{{name}}", 403, 403, 204, given={"name": "victim"}),
    Row("GET", f"{API}/users/{{name}}/identities", 200, 403, 200, given={"name": "owner"}),
    Row(
        "POST",
        f"{API}/users/{{name}}/identities",
        403,
        403,
        201,
        given={"name": "owner"},
        body={"issuer": "https://id.example.org", "subject": "{fresh}"},
    ),
    Row("DELETE", f"{API}/users/{{name}}/identities", 403, 403, 204, given={"name": "linked"}),
    Row("GET", f"{API}/tokens", 200, 200, 200),
    Row("POST", f"{API}/tokens", 201, 403, 201, body={"name": "x", "user": "{owner}"}),
    Row("DELETE", f"{API}/tokens/{{token_id}}", 204, 404, 204, given={"token_id": "token"}),
    Row("GET", f"{API}/secrets", 200, 200, 200),
    Row("PUT", f"{API}/secrets/{{name}}", 201, 201, 201, given={"name": "fresh"}, piece=b"hunter2"),
    Row("DELETE", f"{API}/secrets/{{name}}", 204, 403, 204, given={"name": "secret"}, query={"owner": "{owner}"}),
    Row("GET", f"{API}/alerts/firing", 200, 200, 200),
    Row("GET", f"{API}/alerts/history", 200, 200, 200),
    Row("GET", f"{API}/alerts/rules", 403, 403, 200),
    Row("GET", f"{API}/alerts/silences", 403, 403, 200),
    Row("POST", f"{API}/alerts/silences", 403, 403, 201, body={"rule": "LogServerNotReachable", "for": "1m"}),
    Row("DELETE", f"{API}/alerts/silences/{{silence_id}}", 403, 403, 204, given={"silence_id": "silence"}),
    Row("GET", f"{API}/notices/settings", 200, 200, 200),
    Row("PUT", f"{API}/notices/settings", 200, 200, 200, body={"on": ["failed"]}),
    Row("DELETE", f"{API}/notices/settings", 204, 204, 204),
    Row("POST", f"{API}/notices/test", 409, 409, 409),
    Row("GET", f"{API}/notices", 200, 200, 200),
    Row("GET", f"{API}/templates", 200, 200, 200),
    Row("GET", f"{API}/templates/{{name}}", 200, 404, 200, given={"name": "template"}),
    Row("PUT", f"{API}/templates/{{name}}", 201, 409, 201, given={"name": "template"}, body=_TEMPLATE),
    Row("DELETE", f"{API}/templates/{{name}}", 204, 404, 204, given={"name": "template"}),
    Row("POST", f"{API}/sweeps", 201, 201, 201, body={"spec": _SWEEP}),
    Row("GET", f"{API}/sweeps", 200, 200, 200),
    Row("GET", f"{API}/sweeps/{{ref}}", 200, 200, 200, 404, given={"ref": "sweep"}),
    Row("GET", f"{API}/sweeps/{{ref}}/members", 200, 403, 200, 404, given={"ref": "sweep"}),
    Row("POST", f"{API}/sweeps/{{ref}}/stop", 200, 403, 200, 404, given={"ref": "open_sweep"}),
    Row("POST", f"{API}/models", 201, 403, 201, 404, body={"job": "{ran}", "path": "{output}", "name": "{fresh}"}),
    Row("GET", f"{API}/models", 200, 200, 200),
    Row("GET", f"{API}/models/{{ref}}", 200, 404, 200, given={"ref": "model"}),
    Row("DELETE", f"{API}/models/{{ref}}", 204, 404, 204, given={"ref": "model"}),
    Row("GET", f"{API}/models/{{ref}}/files/{{path}}", 200, 404, 200, given=_MODEL_FILE),
    Row("GET", f"{API}/schema", 200, 200, 200),
    Row("GET", f"{API}/server/log", 403, 403, 200),
    Row("GET", f"{API}/server/health", 403, 403, 200),
    Row("POST", f"{API}/server/write-check", 200, 200, 200),
    *(Row("GET", route, 200, 200, 200, open_to_all=True) for route in ("/healthz", "/readyz", "/openapi.json", "/")),
    Row("GET", "/metrics", 200, 200, 200),
    *(Row(method, "/jobs/{ref}", 303, 303, 303, given={"ref": "ran"}, open_to_all=True) for method in ("GET", "HEAD")),
    Row("GET", "/jobs/{ref}/proxy/{rest:path}", 303, 303, 303, given={"ref": "ran"}, open_to_all=True),
    Row("HEAD", "/", 200, 200, 200, open_to_all=True),
    *(
        Row(method, "/portal/{name:path}", 200, 200, 200, given={"name:path": "portal_file"}, open_to_all=True)
        for method in ("GET", "HEAD")
    ),
)
