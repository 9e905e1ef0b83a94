"""A server and a real identity provider that it trusts."""

import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.parts.oidc_provider import CLIENT_ID, CLIENT_SECRET, OidcProvider, running_provider
from tests.parts.ports import free_port
from tests.parts.server import MusterServer


@dataclass
class Site:
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

    def change(self, subject: str, **claims: Any) -> None:
        self.provider.people[subject] |= claims
        self.provider.save()

    def user(self, name: str) -> Any:
        _, found = self.server.call("GET", "/api/v1/users")
        return next((user for user in found["items"] if user["name"] == name), None)

    def audit(self, kind: str, user: str) -> list[Any]:
        """The audit events of that kind about a user."""
        after = 0
        found: list[Any] = []
        while True:
            _, page = self.server.call("GET", f"/api/v1/events?kind=audit.{kind}&after={after}")
            if not page["items"]:
                return found
            after = page["items"][-1]["seq"]
            found += [event for event in page["items"] if event["data"].get("user") == user]


@contextmanager
def running_site(
    folder: Path, oidc: Mapping[str, Any], settings: Mapping[str, Any] | None = None, **provider_options: Any
) -> Iterator[Site]:
    """Raises ProviderMissing if there is no provider on this machine."""
    port = free_port()
    server = MusterServer(folder / "home", port=port)
    callback = f"http://127.0.0.1:{port}/api/v1/login/sso/callback"
    with running_provider(folder / "provider", [callback], **provider_options) as provider:
        _write_settings(server.home, provider, oidc, settings or {})
        server.start()
        try:
            yield Site(server, provider)
        finally:
            server.stop()


def _write_settings(home: Path, provider: OidcProvider, more: Mapping[str, Any], settings: Mapping[str, Any]) -> None:
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
        **more,
    }
    (home / "config.yaml").write_text(yaml.safe_dump({"oidc": oidc, **settings}))
