"""Kubeconfigs: what Muster does not support is refused by name, and exec plugins are real programs."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from muster.domain.errors import Invalid, Unreachable
from muster.kubernetes.connection import connect
from tests.parts.tiny_api_server import Answer, Asked, kubeconfig_for, tiny_api_server

pytestmark = pytest.mark.fast
V1 = "client.authentication.k8s.io/v1"


def kubeconfig(folder: Path, *, cluster: dict[str, Any] | None = None, user: dict[str, Any] | None = None) -> Path:
    file = kubeconfig_for("http://127.0.0.1:9", folder)
    config = json.loads(file.read_text())
    config["clusters"][0]["cluster"] |= cluster or {}
    config["users"][0]["user"] = {"token": "t"} if user is None else user
    file.write_text(json.dumps(config))
    return file


@pytest.mark.parametrize(
    ("cluster", "user", "named"),
    [
        ({"proxy-url": "http://proxy.example.com:3128"}, None, "cluster c has proxy-url"),
        ({"tls-server-name": "api.example.com"}, None, "cluster c has tls-server-name"),
        (None, {"token": "t", "as": "somebody"}, "user u has as,"),
        (None, {"token": "t", "as": "somebody", "as-groups": ["admins"]}, "user u has as"),
        (None, {"auth-provider": {"name": "oidc"}}, "user u has auth-provider"),
        (
            None,
            {"exec": {"apiVersion": V1, "command": "login", "interactiveMode": "Always"}},
            "interactiveMode Always",
        ),
        (
            None,
            {"exec": {"apiVersion": "client.authentication.k8s.io/v9", "command": "login"}},
            "login speaks client.authentication.k8s.io/v9",
        ),
    ],
)
def test_what_is_not_supported_is_named(
    tmp_path: Path, cluster: dict[str, Any] | None, user: dict[str, Any] | None, named: str
) -> None:
    with pytest.raises(Invalid, match=named) as refused:
        connect(kubeconfig(tmp_path, cluster=cluster, user=user))
    assert refused.value.hint


def test_an_entry_of_another_context_does_no_harm(tmp_path: Path) -> None:
    file = kubeconfig(tmp_path)
    config = json.loads(file.read_text())
    config["clusters"].append({"name": "far", "cluster": {"server": "https://far", "proxy-url": "http://proxy"}})
    config["contexts"].append({"name": "far", "context": {"cluster": "far", "user": "u"}})
    file.write_text(json.dumps(config))
    assert connect(file).namespace == "lab"
    with pytest.raises(Invalid, match="proxy-url"):
        connect(file, "far")


@pytest.mark.parametrize("text", ["clusters: [", "clusters: [{name: c, cluster: {server: [1]}}]\ncontexts: []"])
def test_a_broken_file_is_invalid(tmp_path: Path, text: str) -> None:
    file = tmp_path / "kubeconfig"
    file.write_text(text)
    with pytest.raises(Invalid, match="cannot be used"):
        connect(file)


class Guarded:
    """An API server that accepts one token, and notes which ones it was shown."""

    def __init__(self) -> None:
        self.url, self.accepted = "", "token-1"
        self.shown: list[str] = []

    def answer(self, asked: Asked) -> Answer:
        self.shown.append(asked.authorization)
        accepted = asked.authorization == f"Bearer {self.accepted}"
        return (200, [{}]) if accepted else (401, [{"message": "Unauthorized"}])


@pytest.fixture
def api() -> Iterator[Guarded]:
    guarded = Guarded()
    with tiny_api_server(guarded.answer) as guarded.url:
        yield guarded


def with_plugin(api: Guarded, folder: Path, script: str) -> Path:
    """A kubeconfig with a plugin beside it, which the file names by a relative path."""
    plugin = folder / "plugin"
    plugin.write_text(f"#!/bin/sh\ncd '{folder}'\n{script}\n")
    plugin.chmod(0o755)
    user = {"exec": {"apiVersion": V1, "command": "./plugin", "env": [{"name": "KIND", "value": "ExecCredential"}]}}
    return kubeconfig(folder, cluster={"server": api.url}, user=user)


def ask(file: Path, times: int = 1, at_once: int = 1) -> None:
    async def run() -> None:
        connection = connect(file)
        try:
            for _ in range(times):
                await asyncio.gather(*(connection.request("GET", "/version") for _ in range(at_once)))
        finally:
            await connection.close()

    asyncio.run(run())


COUNTED = """echo >> calls
printf '{"kind": "%s", "status": {"token": "token-%d"}}' "$KIND" "$(wc -l < calls)"
"""


def test_an_exec_plugin_is_asked_once_for_many_requests(api: Guarded, tmp_path: Path) -> None:
    ask(with_plugin(api, tmp_path, COUNTED + 'echo "$KUBERNETES_EXEC_INFO" > request'), times=2, at_once=5)
    assert api.shown == ["Bearer token-1"] * 10
    request = json.loads((tmp_path / "request").read_text())
    assert (request["apiVersion"], request["spec"]) == (V1, {"interactive": False})


def test_a_token_that_is_refused_is_renewed_once(api: Guarded, tmp_path: Path) -> None:
    api.accepted = "token-2"
    ask(with_plugin(api, tmp_path, COUNTED), times=2)
    assert api.shown == ["Bearer token-1", "Bearer token-2", "Bearer token-2"]


def test_a_plugin_that_returns_a_certificate_is_refused_by_name(api: Guarded, tmp_path: Path) -> None:
    status = {"clientCertificateData": "PEM", "clientKeyData": "SECRET"}
    file = with_plugin(api, tmp_path, f"echo '{json.dumps({'status': status})}'")
    with pytest.raises(Invalid, match="plugin returned a client certificate, which Muster does not support") as refused:
        ask(file)
    assert "returns a token" in refused.value.hint
    assert api.shown == []


@pytest.mark.parametrize(
    ("script", "error", "named"),
    [
        ("echo nonsense", Invalid, "did not answer with an ExecCredential"),
        ("echo '{\"status\": {}}'", Invalid, "returned no token"),
        ("echo 'log in first' >&2; exit 3", Unreachable, "ended with code 3: log in first"),
    ],
)
def test_a_plugin_that_fails_is_named(
    api: Guarded, tmp_path: Path, script: str, error: type[Exception], named: str
) -> None:
    with pytest.raises(error, match=named):
        ask(with_plugin(api, tmp_path, script))


def test_a_plugin_that_is_missing_is_named(api: Guarded, tmp_path: Path) -> None:
    file = with_plugin(api, tmp_path, "")
    (tmp_path / "plugin").unlink()
    with pytest.raises(Invalid, match="plugin is not installed"):
        ask(file)
