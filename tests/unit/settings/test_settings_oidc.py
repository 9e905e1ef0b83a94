"""Settings of the identity provider: what is safe, and secrets that stay in their file."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from muster.domain.errors import Invalid
from muster.settings.server import ServerSettings, load_settings

pytestmark = pytest.mark.fast

OIDC = {"issuer": "https://id.example.org/realms/lab", "clientId": "muster"}


def settings(home: Path, **oidc: Any) -> ServerSettings:
    (home / "config.yaml").write_text(yaml.safe_dump({"oidc": {**OIDC, **oidc}}))
    return load_settings({"home": str(home)}, {})


def test_little_has_to_be_said(tmp_path: Path) -> None:
    found = settings(tmp_path)
    assert found.oidc is not None
    assert (found.oidc.username_claim, found.oidc.scopes) == ("preferred_username", ("openid", "profile", "email"))
    assert found.oidc_secret == ""
    rules = found.oidc.rules()
    assert (rules.creates_users, rules.links_by_name, found.oidc.max_token_lifetime) == (True, False, 30 * 86400)


def test_rules_are_read(tmp_path: Path) -> None:
    found = settings(tmp_path, adminGroups=["ops"], allowedGroups=["staff"], allowedDomains=["Example.ORG"])
    assert found.oidc is not None
    rules = found.oidc.rules()
    assert (set(rules.admin_groups), set(rules.allowed_groups)) == ({"ops"}, {"staff"})
    assert rules.allowed_domains == {"example.org"}


@pytest.mark.parametrize(
    "wrong",
    [
        {"issuer": "http://id.example.org"},
        {"issuer": "id.example.org"},
        {"issuer": "https://me:secret@id.example.org"},
        {"issuer": "https://id.example.org?x=1"},
        {"clientId": ""},
        {"clientSecret": "not on a command line and not in this file"},
        {"scopes": ["profile"]},
        {"usernameClaim": ""},
    ],
    ids=str,
)
def test_what_is_not_safe_is_refused(tmp_path: Path, wrong: dict[str, Any]) -> None:
    with pytest.raises(Invalid) as refused:
        settings(tmp_path, **wrong)
    assert [problem.path for problem in refused.value.problems] == [f"oidc.{next(iter(wrong))}"]


def test_a_provider_on_this_machine_needs_no_https(tmp_path: Path) -> None:
    assert settings(tmp_path, issuer="http://127.0.0.1:5556").oidc is not None


def test_the_secret_is_in_a_file_that_others_cannot_read(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    with pytest.raises(Invalid, match="settings are wrong") as refused:
        settings(tmp_path, clientSecretFile="secret")
    assert "cannot read" in refused.value.problems[0].message
    secret.write_text("hush\nmore\n")
    secret.chmod(0o644)
    with pytest.raises(Invalid) as refused:
        settings(tmp_path, clientSecretFile="secret")
    assert "chmod 600" in refused.value.problems[0].message
    secret.chmod(0o600)
    found = settings(tmp_path, clientSecretFile="secret")
    assert found.oidc_secret == "hush"
    assert "hush" not in repr(found)
