"""Which rights `muster cluster check --connect` asks about."""

import json
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
import yaml

from muster.backends.kubernetes.options import JobObjects, KubernetesOptions
from muster.backends.kubernetes.rights import needed_rights
from muster.bootstrap.cluster_check import main

pytestmark = pytest.mark.fast


def places(options: KubernetesOptions, *, has_paddle_jobs: bool = True) -> set[tuple[str, str | None]]:
    found = needed_rights(options, "default", has_paddle_jobs=has_paddle_jobs)
    return {(right.what, right.namespace) for right in found}


def test_tasks_need_rights_in_their_namespace_alone() -> None:
    found = places(KubernetesOptions(namespace="ml"))
    assert {("pods", "ml"), ("pods/log", "ml"), ("paddlejobs", "ml"), ("pods", None), ("nodes", None)} <= found
    assert {("pods/exec", "ml"), ("pods.metrics.k8s.io", "ml"), ("nodes.metrics.k8s.io", None)} <= found
    assert ("namespaces", None) not in found
    assert ("configmaps", "default") in places(KubernetesOptions())


def test_a_namespace_for_each_user_needs_rights_everywhere() -> None:
    found = places(KubernetesOptions(namespace="muster-{user}"))
    assert {namespace for _, namespace in found} == {None}
    assert ("namespaces", None) in found
    rights = needed_rights(KubernetesOptions(namespace="muster-{user}"), "default", has_paddle_jobs=False)
    assert any(right.what == "namespaces" and right.verbs == ("get",) and right.is_vital for right in rights)


@pytest.mark.parametrize(
    ("fields", "has_paddle_jobs", "expected"),
    [
        ({"jobs": JobObjects.PODS}, True, set()),
        ({}, False, set()),
        ({"shows_foreign_jobs": True, "jobs": JobObjects.PODS}, True, {None}),
        ({"shows_foreign_jobs": True, "foreign_namespaces": ("a", "b")}, False, {"a", "b"}),
    ],
)
def test_paddle_jobs_need_rights_where_they_are_used(
    fields: dict[str, Any], has_paddle_jobs: bool, expected: set[str | None]
) -> None:
    found = places(KubernetesOptions(namespace="ml", **fields), has_paddle_jobs=has_paddle_jobs)
    assert {namespace for what, namespace in found if what == "paddlejobs"} == expected


Respond = Callable[[str, Any], tuple[int, Any]]


@pytest.fixture
def api() -> Iterator[Callable[[Respond], str]]:
    """Starts an API server that responds to each path and body as the test says, and returns its address."""
    servers: list[ThreadingHTTPServer] = []

    def start(respond: Respond) -> str:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                status, told = respond(self.path, json.loads(body or b"null"))
                content = json.dumps(told).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            do_POST = do_GET

            def log_message(self, *args: object) -> None:
                pass

        servers.append(ThreadingHTTPServer(("127.0.0.1", 0), Handler))
        Thread(target=servers[-1].serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{servers[-1].server_port}"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def kubeconfig_of(url: str, folder: Path) -> Path:
    file = folder / "kubeconfig"
    document = {
        "contexts": [{"name": "lab", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "lab",
        "clusters": [{"name": "c", "cluster": {"server": url}}],
        "users": [{"name": "u", "user": {"token": "x"}}],
    }
    file.write_text(yaml.safe_dump(document))
    return file


def check(folder: Path, capsys: pytest.CaptureFixture[str], **settings: str) -> dict[str, Any]:
    file = folder / "clusters.d" / "kx.yaml"
    file.parent.mkdir()
    file.write_text(yaml.safe_dump({"backend": "kubernetes", **settings}))
    assert main(["--connect", "--folder", str(file.parent), str(file)]) == 0
    return dict(json.loads(capsys.readouterr().out))


def status(code: int, message: str, reason: str) -> tuple[int, Any]:
    return code, {"kind": "Status", "code": code, "message": message, "reason": reason}


def permitting(*, namespaces: tuple[str, ...] = ("ml",), denied: str = "") -> Respond:
    """A cluster with these namespaces, whose account lacks one right, `verb resource`."""

    def respond(path: str, body: Any) -> tuple[int, Any]:
        if "selfsubjectaccessreviews" in path:
            asked = body["spec"]["resourceAttributes"]
            return 201, {"status": {"allowed": f"{asked['verb']} {asked['resource']}" != denied}}
        if "/configmaps" in path:
            assert "dryRun=All" in path
            is_there = path.split("/namespaces/")[1].split("/")[0] in namespaces
            return (201, body) if is_there else status(404, "namespaces not found", "NotFound")
        return 200, {"resources": []}

    return respond


@pytest.mark.parametrize(
    ("respond", "failure"),
    [
        (lambda *_: status(401, "Unauthorized", "Unauthorized"), "Unauthorized: jobs cannot run"),
        (permitting(denied="create pods"), "may not create pods of namespace ml: jobs cannot run"),
        (permitting(denied="list nodes"), "may not list nodes"),
        (permitting(namespaces=()), "there is no namespace ml"),
    ],
)
def test_a_cluster_on_which_no_job_could_run_is_a_mistake(
    api: Callable[[Respond], str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    respond: Respond,
    failure: str,
) -> None:
    config = kubeconfig_of(api(respond), tmp_path)
    told = check(tmp_path, capsys, kubeconfig=str(config), namespace="ml")
    (item,) = told["items"]
    assert item["file"] == "kx.yaml"
    assert "cluster kx: " in item["message"]
    assert failure in item["message"]


def test_an_api_server_that_cannot_be_reached_is_a_mistake(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = kubeconfig_of("http://127.0.0.1:1", tmp_path)
    (item,) = check(tmp_path, capsys, kubeconfig=str(config))["items"]
    assert "no answer from the API server" in item["message"]


def test_rights_without_which_jobs_run_are_warnings(
    api: Callable[[Respond], str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = kubeconfig_of(api(permitting(denied="create services")), tmp_path)
    told = check(tmp_path, capsys, kubeconfig=str(config), namespace="ml")
    assert told["items"] == []
    assert any("may not create services" in warning for warning in told["warnings"])


def test_the_check_says_which_file_context_and_namespace_are_used(
    api: Callable[[Respond], str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    config = kubeconfig_of(api(permitting(namespaces=("default",))), tmp_path)
    monkeypatch.setenv("KUBECONFIG", str(config))
    told = check(tmp_path, capsys)
    assert told["items"] == []
    (note,) = told["notes"]
    assert note.startswith(f"cluster kx: uses {config} (the cluster's file names no `kubeconfig`")
    assert "context lab" in note
    assert note.endswith("namespace default")
