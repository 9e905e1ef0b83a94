"""Settings of the LDAP directory whose passwords people log in with."""

from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

from pydantic import Field, field_validator, model_validator

from muster.settings.oidc import SignInSettings
from muster.wire.spec_schema import Seconds

PLACE = "{user}"


class LdapSettings(SignInSettings):
    url: str = Field(description="The address: ldaps://host, or ldap://host, which is encrypted by StartTLS.")
    name: str = Field(
        "ldap", pattern=r"^[a-z0-9-]{1,40}$", description="What links of users to people of this directory begin with."
    )
    allow_plain: bool = Field(False, description="Whether passwords may travel to an ldap:// address unencrypted.")
    ca_file: Path | None = Field(
        None, description="A PEM file with the authority that signed the directory's certificate."
    )
    bind_template: str | None = Field(
        None, description="The name of everybody's own entry, such as uid={user},ou=people,dc=example,dc=org."
    )
    search_base: str | None = Field(None, description="Where entries of people are searched, instead of bindTemplate.")
    user_filter: str = Field("(uid={user})", description="Which entry below searchBase is that of a person.")
    bind_dn: str | None = Field(None, description="Who searches; without it, the directory must allow it to everybody.")
    bind_password_file: Path | None = Field(None, description="The password of bindDn, in a file with mode 0600.")
    username_attribute: str = Field("uid", min_length=1, description="The attribute with the name of a new account.")
    id_attribute: str = Field(
        "entryUUID", min_length=1, description="The attribute that never changes; objectGUID in Active Directory."
    )
    groups_attribute: str | None = Field("memberOf", description="The attribute with the groups of a person.")
    group_base: str | None = Field(None, description="Where groups are searched, instead of groupsAttribute.")
    group_filter: str = Field("(member={dn})", description="Which entries below groupBase are groups of the person.")
    timeout: Seconds = Field(5.0, gt=0, le=60, description="How long the directory may take for each step.")

    @field_validator("url")
    @classmethod
    def _is_an_address(cls, url: str) -> str:
        parts = urlsplit(url)
        if parts.scheme not in ("ldap", "ldaps") or not parts.hostname or "@" in parts.netloc:
            raise ValueError("must look like ldaps://ldap.example.org")
        if parts.path.strip("/") or parts.query:
            raise ValueError("must have neither a path nor a query; use searchBase")
        return url

    @model_validator(mode="after")
    def _is_complete(self) -> Self:
        if (self.bind_template is None) == (self.search_base is None):
            raise ValueError("choose either bindTemplate or searchBase")
        if self.bind_template is not None and PLACE not in self.bind_template:
            raise ValueError(f"bindTemplate must contain {PLACE}")
        if PLACE not in self.user_filter:
            raise ValueError(f"userFilter must contain {PLACE}")
        if (self.bind_dn is None) != (self.bind_password_file is None):
            raise ValueError("bindDn and bindPasswordFile must be given together")
        return self
