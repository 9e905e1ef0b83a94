"""Credentials for registries: what of a config.json is used, and what is said about one that has none."""

import base64
import json
from typing import Any

import pytest

from muster.domain.errors import Invalid
from muster.launch.registry_credentials import login_for, registry_config

pytestmark = pytest.mark.fast
ADA = base64.b64encode(b"ada:hunter2:with a colon").decode()


def config(**auths: Any) -> bytes:
    return json.dumps({"auths": auths}).encode()


def test_only_credentials_are_passed_on() -> None:
    given = {"auths": {"r.example.org": {"auth": ADA}}, "credsStore": "desktop", "proxies": {}}
    assert json.loads(registry_config(json.dumps(given).encode())) == {"auths": {"r.example.org": {"auth": ADA}}}


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (b"hunter2", "is not a docker config.json"),
        (b"\xff\xfe", "is not a docker config.json"),
        (b"[]", "has no `auths`"),
        (b'{"auths": {}}', "has no `auths`"),
        (b'{"auths": {"r.example.org": {}}}', "only references to a credential store"),
        (b'{"auths": {"r.example.org": {"auth": "hunter2"}}}', "only references to a credential store"),
    ],
)
def test_a_secret_without_credentials_is_refused_without_being_quoted(value: bytes, said: str) -> None:
    with pytest.raises(Invalid) as refused:
        registry_config(value)
    assert said in refused.value.message
    assert "hunter2" not in refused.value.message + refused.value.hint
    assert "muster secret set" in refused.value.hint


@pytest.mark.parametrize(
    ("image", "user"),
    [
        ("paddle:2.6", "hub"),
        ("paddlepaddle/paddle", "hub"),
        ("docker.io/library/paddle", "hub"),
        ("docker://r.example.org/a/b:1", "whole"),
        ("r.example.org/team/b:1", "team"),
        ("r.example.org.evil.net/a", None),
        ("r.example.org:5000/a", None),
        ("elsewhere.example.org/a", None),
    ],
)
def test_the_login_is_that_of_the_registry_of_the_image(image: str, user: str | None) -> None:
    value = json.dumps(
        {
            "auths": {
                "https://index.docker.io/v1/": {"username": "hub", "password": "x"},
                "r.example.org": {"username": "whole", "password": "x"},
                "r.example.org/team": {"username": "team", "password": "x"},
            }
        }
    ).encode()
    found = login_for(image, value)
    assert (found and found[0]) == user


def test_a_password_may_have_colons() -> None:
    assert login_for("r/a", config(**{"docker.io": {"auth": ADA}})) == ("ada", "hunter2:with a colon")
