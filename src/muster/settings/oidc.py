"""Settings of the OpenID Connect provider that people log in with."""

from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, field_validator
from pydantic.alias_generators import to_camel

from muster.domain.sign_in import SignInRules
from muster.wire.spec_schema import Seconds

_LOOPBACK = ("localhost", "127.0.0.1", "::1")


class SignInSettings(BaseModel):
    """What all kinds of providers have in common: who may log in, and what they become."""

    model_config = ConfigDict(extra="forbid", alias_generator=to_camel, populate_by_name=True, frozen=True)

    admin_groups: tuple[str, ...] = Field(
        (), description="Groups whose members are admins. If given, others are not: the role is set at each login."
    )
    allowed_groups: tuple[str, ...] = Field((), description="Groups whose members may log in; everybody by default.")
    create_users: bool = Field(True, description="Whether people whom Muster does not know get an account.")
    link_by_name: bool = Field(
        False, description="Whether a person gets the existing account of the same name, unless it is an admin's."
    )
    session_lifetime: Seconds | None = Field(None, description="How long a login lasts, if shorter than other logins.")
    max_token_lifetime: Seconds = Field(
        30 * 86400.0, description="How long tokens last, at most, that these people create."
    )

    def rules(self) -> SignInRules:
        return SignInRules(
            admin_groups=frozenset(self.admin_groups),
            allowed_groups=frozenset(self.allowed_groups),
            creates_users=self.create_users,
            links_by_name=self.link_by_name,
            session_lifetime_s=self.session_lifetime,
        )


class OidcSettings(SignInSettings):
    issuer: str = Field(description="The address of the provider, exactly as it writes it itself.")
    client_id: str = Field(min_length=1, description="The name under which the provider knows this server.")
    client_secret_file: Path | None = Field(
        None, description="A file with the client secret that only the server's account can read (0600)."
    )
    title: str = Field("", max_length=60, description="What the button on the page says; by default, the host name.")
    scopes: tuple[str, ...] = Field(("openid", "profile", "email"), description="What the provider is asked for.")
    username_claim: str = Field(
        "preferred_username", min_length=1, description="The claim with the name of a new account."
    )
    groups_claim: str | None = Field(
        None, min_length=1, description="The claim with the groups; if given, it replaces the groups at each login."
    )
    allowed_domains: tuple[str, ...] = Field(
        (), description="Domains of mail addresses, confirmed by the provider, that may log in; all by default."
    )
    ca_file: Path | None = Field(
        None, description="A PEM file with the authority that signed the provider's certificate."
    )

    @field_validator("issuer")
    @classmethod
    def _is_safe(cls, issuer: str) -> str:
        parts = urlsplit(issuer)
        if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc:
            raise ValueError("must look like https://id.example.org")
        if parts.query or parts.fragment:
            raise ValueError("must have neither a query nor a fragment")
        if parts.scheme == "http" and parts.hostname not in _LOOPBACK:
            raise ValueError("must begin with https:, unless the provider is on this machine")
        return issuer

    @field_validator("scopes")
    @classmethod
    def _has_openid(cls, scopes: tuple[str, ...]) -> tuple[str, ...]:
        if "openid" not in scopes:
            raise ValueError("must contain openid")
        return scopes

    def rules(self) -> SignInRules:
        return replace(super().rules(), allowed_domains=frozenset(domain.lower() for domain in self.allowed_domains))
