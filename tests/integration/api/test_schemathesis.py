"""Whatever is sent to the API, it answers as its document says, and never with a server error.

Left out: `POST /logout` ends the token that all calls are made with, and `GET /live` does not end. Kept short: streams
are asked not to follow, and waits not to wait.
"""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from schemathesis.checks import CHECKS, load_all_checks

from muster.server.app import create_app
from tests.integration.api.calling import Caller, ok
from tests.integration.api.people import unique
from tests.parts.server import MusterServer, running_server

load_all_checks()
CHECKED = CHECKS.get_by_names(
    ["not_a_server_error", "status_code_conformance", "content_type_conformance", "response_schema_conformance"]
)
document = create_app(None).openapi()
schema = schemathesis.openapi.from_dict(document).exclude(operation_id=["log_out", "live"])


@dataclass(frozen=True)
class Target:
    server: MusterServer
    real: dict[str, str]


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    """A server of its own with one of each thing, so that calls reach behind the first look-up."""
    home = tmp_path_factory.mktemp("fuzzed")
    (home / "clusters.d").mkdir()
    (home / "clusters.d" / "vcs.yaml").write_text("{name: somebody, userLimits: {queuedJobs: 1000}}\n")
    with running_server(home) as server:
        admin = Caller(server, server.token)
        job = admin.submit({"name": unique("real"), "command": "echo hello"})
        server.wait(job["id"])
        data = b"some bytes"
        digest = hashlib.sha256(data).hexdigest()
        ok(admin.send("PUT", f"/packages/{digest}", params={"size": len(data)}, content=data))
        ok(admin.post("/users", {"name": "somebody"}), 201)
        yield Target(server, {"ref": job["id"], "digest": digest, "name": "somebody"})
        errors = (server.home / "stderr.log").read_text()
        assert "Traceback" not in errors, errors[-3000:]


@schema.given(is_real=st.booleans())
@schema.parametrize()
@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True, database=None)
def test_every_answer_is_one_that_the_document_names(case: Any, target: Target, is_real: bool) -> None:
    if is_real and case.method != "DELETE":
        case.path_parameters = {name: target.real.get(name, value) for name, value in case.path_parameters.items()}
    _keep_short(case)
    headers = {"Authorization": f"Bearer {target.server.token}"}
    request = case.as_transport_kwargs(base_url=target.server.url, headers=headers)
    case.validate_response(requests.request(**request, timeout=30), checks=CHECKED)


def _keep_short(case: Any) -> None:
    query = case.query or {}
    if "follow" in query:
        query["follow"] = "false"
    if case.path.endswith("/wait"):
        query["timeout"] = query.get("timeout") if not re.match(r"[0-9.]+", str(query.get("timeout", "9"))) else 0
    case.query = query
