"""Settings of the directory: encrypted unless somebody insists, and complete."""

from typing import Any

import pytest
from pydantic import ValidationError

from muster.settings.ldap import LdapSettings

pytestmark = pytest.mark.fast

TEMPLATE = "uid={user},ou=people,dc=example,dc=org"
GIVEN = {"url": "ldaps://ldap.example.org", "bindTemplate": TEMPLATE}


def test_little_has_to_be_said() -> None:
    found = LdapSettings.model_validate(GIVEN)
    assert (found.allow_plain, found.id_attribute, found.groups_attribute) == (False, "entryUUID", "memberOf")


@pytest.mark.parametrize(
    "change",
    [
        {"url": "http://ldap.example.org"},
        {"url": "ldaps://cn=me@ldap.example.org"},
        {"url": "ldaps://ldap.example.org/dc=example"},
        {"bindTemplate": "uid=amy,dc=example"},
        {"bindTemplate": None},
        {"searchBase": "dc=example"},
        {"userFilter": "(uid=amy)"},
        {"bindDn": "cn=searcher"},
        {"bindPasswordFile": "secret"},
        {"name": "Not A Name"},
        {"timeout": 0},
    ],
    ids=str,
)
def test_what_cannot_work_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        LdapSettings.model_validate({**GIVEN, **change})
