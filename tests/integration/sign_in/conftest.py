"""One server and one real identity provider for all tests of a worker. Each test logs in people of its own."""

import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.parts.form_browser import FormBrowser
from tests.parts.oidc_provider import (
    CLIENT_ID,
    CLIENT_SECRET,
    OidcProvider,
    ProviderMissing,
    free_port,
    running_provider,
)
from tests.parts.server import MusterServer


@dataclass
class Site:
    """A server whose people come from an identity provider."""

    server: MusterServer
    provider: OidcProvider

    @property
    def start(self) -> str:
        return f"{self.server.url}/api/v1/login/sso"

    @property
    def callback(self) -> str:
        return f"{self.start}/callback"

    def person(self, prefix: str = "amy", **claims: Any) -> str:
        """A new person at the provider; the subject, which is the name too unless the claims say otherwise."""
        subject = f"{prefix}-{secrets.token_hex(4)}"
        self.provider.people[subject] = {"preferred_username": subject, "groups": ["staff"]} | claims
        self.provider.save()
        return subject

    def user(self, name: str) -> Any:
        _, found = self.server.call("GET", "/api/v1/users")
        return next((user for user in found["items"] if user["name"] == name), None)


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("sign-in")
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    try:
        with running_provider(folder / "provider", [f"{address}/api/v1/login/sso/callback"]) as provider:
            server = MusterServer(folder / "home", port=port)
            write_settings(server.home, provider)
            server.start()
            try:
                yield Site(server, provider)
            finally:
                server.stop()
    except ProviderMissing as missing:
        pytest.skip(str(missing))


def write_settings(home: Path, provider: OidcProvider, **more: Any) -> None:
    home.mkdir(parents=True, exist_ok=True)
    secret = home / "client-secret"
    secret.write_text(f"{CLIENT_SECRET}\n")
    secret.chmod(0o600)
    oidc = {
        "issuer": provider.issuer,
        "clientId": CLIENT_ID,
        "clientSecretFile": "client-secret",
        "title": "Example",
        "scopes": ["openid", "profile", "email", "groups"],
        "groupsClaim": "groups",
        "adminGroups": ["admins"],
        "allowedGroups": ["staff", "vision"],
        **more,
    }
    (home / "config.yaml").write_text(yaml.safe_dump({"oidc": oidc}))


@pytest.fixture
def browser() -> Iterator[FormBrowser]:
    made = FormBrowser()
    yield made
    made.close()
