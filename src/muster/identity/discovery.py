"""What a provider publishes about itself: its addresses and its keys, fetched when they are needed and kept a while."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from muster.domain.errors import Unavailable
from muster.identity.fetching import Fetching

KEPT_S = 3600.0
_KEYS_AGAIN_S = 10.0
"""Tokens with unknown keys must not make this server flood the provider."""
MAX_KEYS = 100


@dataclass(frozen=True, slots=True)
class Endpoints:
    authorization: str
    token: str
    keys: str
    userinfo: str | None
    device: str | None
    takes_basic: bool
    """Whether the client may send its secret in the Authorization header."""
    names_itself: bool
    """Whether the provider says in each answer to the browser who it is."""


class Discovery:
    """What has been fetched is used after its time too if the provider does not answer then."""

    def __init__(self, issuer: str, fetching: Fetching, clock: Callable[[], float] = time.monotonic) -> None:
        self._issuer = issuer
        self._fetching = fetching
        self._clock = clock
        self._endpoints: tuple[Endpoints, float] | None = None
        self._keys: tuple[Sequence[Mapping[str, Any]], float] | None = None
        self._keys_again_at = 0.0

    async def endpoints(self) -> Endpoints:
        if self._endpoints is None or self._clock() - self._endpoints[1] > KEPT_S:
            try:
                self._endpoints = await self._fetch_endpoints(), self._clock()
            except Unavailable:
                if self._endpoints is None:
                    raise
        return self._endpoints[0]

    async def keys(self) -> Sequence[Mapping[str, Any]]:
        if self._keys is None or self._clock() - self._keys[1] > KEPT_S:
            try:
                self._keys = await self._fetch_keys(), self._clock()
            except Unavailable:
                if self._keys is None:
                    raise
        return self._keys[0]

    async def newer_keys(self) -> Sequence[Mapping[str, Any]]:
        """The keys, fetched again because one was missing, but not more often than every few seconds."""
        if self._clock() >= self._keys_again_at:
            self._keys_again_at = self._clock() + _KEYS_AGAIN_S
            self._keys = await self._fetch_keys(), self._clock()
        return await self.keys()

    async def _fetch_endpoints(self) -> Endpoints:
        found = await self._object(f"{self._issuer.rstrip('/')}/.well-known/openid-configuration")
        if found.get("issuer") != self._issuer:
            raise self._unusable(f"it calls itself {found.get('issuer')!r}, not {self._issuer!r}")
        methods = found.get("token_endpoint_auth_methods_supported", ["client_secret_basic"])
        return Endpoints(
            authorization=self._url(found, "authorization_endpoint"),
            token=self._url(found, "token_endpoint"),
            keys=self._url(found, "jwks_uri"),
            userinfo=self._url(found, "userinfo_endpoint") if "userinfo_endpoint" in found else None,
            device=self._url(found, "device_authorization_endpoint")
            if "device_authorization_endpoint" in found
            else None,
            takes_basic=isinstance(methods, list) and "client_secret_basic" in methods,
            names_itself=found.get("authorization_response_iss_parameter_supported") is True,
        )

    async def _fetch_keys(self) -> Sequence[Mapping[str, Any]]:
        found = (await self._object((await self.endpoints()).keys)).get("keys")
        if not isinstance(found, list):
            raise self._unusable("it publishes no keys")
        return [key for key in found[:MAX_KEYS] if isinstance(key, dict)]

    async def _object(self, url: str) -> dict[str, Any]:
        answer = await self._fetching.get(url)
        if answer.status != 200 or not isinstance(answer.body, dict):
            raise self._unusable(f"{url} answers {answer.status}")
        return answer.body

    def _url(self, found: Mapping[str, Any], name: str) -> str:
        url = found.get(name)
        allowed = ("https",) if self._issuer.startswith("https:") else ("https", "http")
        if not isinstance(url, str) or urlsplit(url).scheme not in allowed or not urlsplit(url).hostname:
            raise self._unusable(f"its {name} cannot be used")
        return url

    def _unusable(self, why: str) -> Unavailable:
        return Unavailable(
            f"the identity provider {self._issuer} cannot be used: {why}",
            hint="check `oidc.issuer` in the server's settings",
            retry_after_s=_KEYS_AGAIN_S,
        )
