"""Logins with an OpenID Connect provider: the authorization code flow with PKCE, and the device flow."""

import base64
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import structlog

from muster.domain.errors import Forbidden, NotAuthenticated, NotFound, Unavailable
from muster.domain.sign_in import Person
from muster.identity.claims import ClaimNames, person_of
from muster.identity.discovery import Discovery, Endpoints
from muster.identity.fetching import Fetched, Fetching
from muster.identity.id_tokens import Expected, UnknownKey, verified_claims
from muster.lib.clock import Clock, wall_clock
from muster.lib.pkce import challenge_of
from muster.ports.sign_in import CodeRequest, DeviceRequest
from muster.settings.oidc import OidcSettings

_log = structlog.get_logger("identity")
_DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"
_WAITING = ("authorization_pending", "slow_down")
_DEFAULT_EVERY_S = 5.0
_LONGEST_DEVICE_S = 1800.0


class OidcProvider:
    def __init__(
        self, settings: OidcSettings, secret: str, fetching: Fetching | None = None, clock: Clock = wall_clock
    ) -> None:
        self._settings = settings
        self._secret = secret
        self._clock = clock
        self._fetching = fetching or Fetching(settings.ca_file)
        self._discovery = Discovery(settings.issuer, self._fetching)
        self._names = ClaimNames(settings.username_claim, settings.groups_claim)

    @property
    def title(self) -> str:
        return self._settings.title or urlsplit(self._settings.issuer).hostname or self._settings.issuer

    @property
    def issuer(self) -> str:
        return self._settings.issuer

    async def address(self, request: CodeRequest) -> str:
        endpoint = (await self._discovery.endpoints()).authorization
        query = {
            "response_type": "code",
            "client_id": self._settings.client_id,
            "redirect_uri": request.redirect_uri,
            "scope": " ".join(self._settings.scopes),
            "state": request.state,
            "nonce": request.nonce,
            "code_challenge": challenge_of(request.verifier),
            "code_challenge_method": "S256",
        }
        return f"{endpoint}{'&' if urlsplit(endpoint).query else '?'}{urlencode(query)}"

    async def person(self, request: CodeRequest, code: str, named: str | None) -> Person:
        must_be_named = (await self._discovery.endpoints()).names_itself
        if (named is not None or must_be_named) and named != self.issuer:
            raise NotAuthenticated("the answer comes from another identity provider")
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": request.redirect_uri,
            "code_verifier": request.verifier,
        }
        answer = await self._ask(form)
        if answer.status != 200:
            raise self._refusal(answer)
        return await self._person(answer.body, request.nonce)

    async def begin_device(self) -> DeviceRequest:
        endpoint = (await self._discovery.endpoints()).device
        if endpoint is None:
            raise NotFound(f"{self.title} offers no login by device code")
        answer = await self._ask({"scope": " ".join(self._settings.scopes)}, endpoint)
        if answer.status != 200 or not isinstance(answer.body, dict):
            raise self._refusal(answer)
        try:
            complete = answer.body.get("verification_uri_complete")
            return DeviceRequest(
                device_code=str(answer.body["device_code"]),
                user_code=str(answer.body["user_code"]),
                address=_web_address(answer.body["verification_uri"]),
                complete_address=None if complete is None else _web_address(complete),
                every_s=max(1.0, float(answer.body.get("interval", _DEFAULT_EVERY_S))),
                lifetime_s=min(float(answer.body["expires_in"]), _LONGEST_DEVICE_S),
            )
        except (KeyError, TypeError, ValueError):
            raise self._broken("its device code is not complete") from None

    async def device_person(self, device_code: str) -> Person | None:
        answer = await self._ask({"grant_type": _DEVICE_GRANT, "device_code": device_code})
        if answer.status == 200:
            return await self._person(answer.body, None)
        if isinstance(answer.body, dict) and answer.body.get("error") in _WAITING:
            return None
        raise self._refusal(answer)

    async def _ask(self, form: Mapping[str, str], endpoint: str | None = None) -> Fetched:
        """A request of this client. The secret is sent in the way that the provider understands."""
        endpoints = await self._discovery.endpoints()
        client_id, headers = self._settings.client_id, {}
        fields = {**form, "client_id": client_id}
        if self._secret and endpoints.takes_basic:
            pair = f"{quote(client_id, safe='')}:{quote(self._secret, safe='')}"
            headers["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
        elif self._secret:
            fields["client_secret"] = self._secret
        return await self._fetching.post(endpoint or endpoints.token, fields, headers)

    async def _person(self, tokens: Any, nonce: str | None) -> Person:
        if not isinstance(tokens, dict) or not isinstance(tokens.get("id_token"), str):
            raise self._broken("it has sent no ID token; is `openid` among the scopes?")
        claims = await self._verified(tokens["id_token"], nonce)
        if not self._names.are_in(claims):
            claims = {**await self._more_claims(tokens.get("access_token"), str(claims["sub"])), **claims}
        return person_of(claims, self.issuer, self._names)

    async def _verified(self, token: str, nonce: str | None) -> Mapping[str, Any]:
        expected = Expected(self.issuer, self._settings.client_id, nonce)
        try:
            return verified_claims(token, await self._discovery.keys(), expected, self._clock())
        except UnknownKey:
            return verified_claims(token, await self._discovery.newer_keys(), expected, self._clock())

    async def _more_claims(self, access_token: Any, subject: str) -> Mapping[str, Any]:
        """What the provider says only if it is asked with the access token. It must be about the same person."""
        endpoints: Endpoints = await self._discovery.endpoints()
        if endpoints.userinfo is None or not isinstance(access_token, str):
            return {}
        answer = await self._fetching.get(endpoints.userinfo, {"Authorization": f"Bearer {access_token}"})
        if answer.status != 200 or not isinstance(answer.body, dict):
            return {}
        if answer.body.get("sub") != subject:
            raise NotAuthenticated("the identity provider has answered about somebody else")
        return answer.body

    def _refusal(self, answer: Fetched) -> Exception:
        """The provider's own words may contain anything, so only its code of the error is passed on."""
        code = answer.body.get("error") if isinstance(answer.body, dict) else None
        known = code if isinstance(code, str) and code.replace("_", "").isalnum() and len(code) < 50 else "no reason"
        _log.warning("the identity provider refused a login", issuer=self.issuer, status=answer.status, error=known)
        if known == "access_denied":
            return Forbidden(f"{self.title} has not allowed the login")
        if known in ("invalid_client", "unauthorized_client"):
            return self._broken("it refuses this server; check `oidc.clientId` and the client secret")
        if answer.status >= 500:
            return self._broken(f"it answers {answer.status}")
        return NotAuthenticated(f"{self.title} refused the login: {known}", hint="begin again")

    def _broken(self, why: str) -> Unavailable:
        return Unavailable(f"the identity provider {self.title} cannot be used: {why}", retry_after_s=5.0)


def build(settings: OidcSettings, secret: str, home: Path) -> OidcProvider:
    """A relative path in the settings starts in the home folder."""
    ca_file = None if settings.ca_file is None else home / settings.ca_file.expanduser()
    return OidcProvider(settings, secret, Fetching(ca_file))


def _web_address(text: Any) -> str:
    if urlsplit(str(text)).scheme not in ("http", "https"):
        raise ValueError
    return str(text)
