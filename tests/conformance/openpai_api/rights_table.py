"""Who may call what of OpenPAI's API: every route, for the owner of the thing, another user and an admin.

Whoever has no valid token is refused everywhere with 401, but for the rows that are open to all. A new route fails a
test until it has a row here.
"""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Row:
    method: str
    route: str
    owner: int
    other: int
    admin: int
    private: int | None = None
    """What another user is answered when jobs are private, where that differs."""
    body: Any = None
    query: str = ""
    open_to_all: bool = False
    own_token: bool = False
    """The call ends the token it is made with."""

    @property
    def title(self) -> str:
        return f"{self.method} {self.route}"


def _all(method: str, route: str, status: int = 200, **more: Any) -> Row:
    return Row(method, route, status, status, status, **more)


def _seen(method: str, route: str, **more: Any) -> Row:
    """Everybody sees it; when jobs are private, it is not there for others."""
    return Row(method, route, 200, 200, 200, 404, **more)


def _read(method: str, route: str, done: int = 200, **more: Any) -> Row:
    """For the owner and admins."""
    return Row(method, route, done, 403, done, 404, **more)


_JOB = "/jobs/{name}"
_USER_JOB = "/user/{user}/jobs/{job}"
_TASK = "/attempts/{attempt}/taskRoles/{role}/taskIndex/{index}/attempts"
_TAG = {"value": "kept"}
_UNSIGNED = "?user=root&expires=1&signature=wrong"
_JOBS_OF_USER = (
    _all("GET", "/user/{user}/jobs"),
    Row("POST", "/user/{user}/jobs", 400, 403, 403, body={}),
    _seen("GET", _USER_JOB),
    _read("GET", f"{_USER_JOB}/config"),
    Row("GET", f"{_USER_JOB}/ssh", 404, 403, 404, 404),
    _read("PUT", f"{_USER_JOB}/executionType", 202, body={"value": "START"}),
)
_USERS = (
    *(_all("GET", path) for path in ("/users", "/users/", "/user", "/groups", "/group")),
    *(Row("GET", f"{path}/{{user}}", 200, 403, 200) for path in ("/users", "/user")),
    *(_all("GET", f"{path}/default{rest}") for path in ("/groups", "/group") for rest in ("", "/userlist")),
)
_CLUSTERS = (
    _all("GET", "/virtual-clusters"),
    _all("GET", "/virtual-clusters/{cluster}"),
    _all("GET", "/virtual-clusters/{cluster}/sku-types"),
    _all("GET", "/cluster/sku-types"),
    _all("GET", "/storages"),
    _all("GET", "/storages/{storage}", 404),
)
_JOBS = (
    _all("POST", "/jobs", 400, body={}),
    _all("GET", "/jobs"),
    _seen("GET", _JOB),
    _seen("GET", f"{_JOB}/attempts/{{attempt}}"),
    _read("GET", f"{_JOB}/config"),
    Row("GET", f"{_JOB}/ssh", 404, 403, 404, 404),
    _read("PUT", f"{_JOB}/executionType", 202, body={"value": "START"}),
    _read("PUT", f"{_JOB}/tag", body=_TAG),
    Row("DELETE", f"{_JOB}/tag", 404, 403, 404, 404, body={"value": "no-such-tag"}),
)
_REST = "/{path}"
VERSION_2 = (
    _all("GET", "/info", open_to_all=True),
    _all("GET", "/authn/info", open_to_all=True),
    _all("POST", "/authn/basic/login", 400, open_to_all=True, body={}),
    _all("DELETE", "/authn/basic/logout", own_token=True),
    *(_all("GET", f"/{path}") for path in ("tokens", "token", "tokens/check", "token/check")),
    *(_all("POST", f"/{path}/application") for path in ("tokens", "token")),
    *(_all("DELETE", f"/{path}/{{token}}", 403) for path in ("tokens", "token")),
    *_JOBS_OF_USER,
    *_USERS,
    *_CLUSTERS,
    *_JOBS,
    _seen("GET", f"{_JOB}/events"),
    _seen("GET", f"{_JOB}/job-attempts"),
    _seen("GET", f"{_JOB}/job-attempts/healthz"),
    _seen("GET", f"{_JOB}/job-attempts/{{attempt}}"),
    _seen("GET", f"{_JOB}{_TASK}"),
    _read("GET", f"{_JOB}{_TASK}/{{task_attempt}}/logs"),
    _all("GET", "/task-logs/{task}", 403, open_to_all=True, query=_UNSIGNED),
    *(_all(method, _REST, 404, open_to_all=True) for method in ("GET", "POST", "PUT", "PATCH", "DELETE")),
)
BESIDE_MUSTER = (_all("POST", "/token", 400, open_to_all=True, body={}), *_JOBS_OF_USER)
"""What is added to `/api/v1`, where Muster's own routes are."""
VERSION_1 = (
    *BESIDE_MUSTER,
    _all("GET", "", open_to_all=True),
    *_USERS,
    *_CLUSTERS,
    *_JOBS,
    *(_all(method, _REST, 404, open_to_all=True) for method in ("GET", "POST", "PUT", "PATCH", "DELETE")),
)
TABLE = {
    "/api/v2": VERSION_2,
    "/rest-server/api/v2": VERSION_2,
    "/api/v1": BESIDE_MUSTER,
    "/rest-server/api/v1": VERSION_1,
}
