"""ID tokens: one that proves who somebody is, and every way in which one does not."""

import base64
import hashlib
import hmac
import json
from collections.abc import Mapping
from functools import cache
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

from muster.domain.errors import NotAuthenticated
from muster.identity.id_tokens import LEEWAY_S, MAX_AGE_S, Expected, UnknownKey, verified_claims
from tests.parts.oidc_provider import new_key, public_jwk

pytestmark = pytest.mark.fast

NOW = 1_700_000_000.0
EXPECTED = Expected("https://id.example.org", "muster", "nonce")
CLAIMS = {
    "iss": EXPECTED.issuer,
    "sub": "42",
    "aud": "muster",
    "exp": NOW + 600,
    "iat": NOW,
    "nonce": "nonce",
}


@cache
def key(name: str) -> RSAPrivateKey:
    return new_key(1024 if name == "short" else 2048)


def published(*names: str) -> list[dict[str, str]]:
    return [public_jwk(key(name), name) for name in names]


def a_token(claims: Mapping[str, Any], by: str = "first", **header: Any) -> str:
    return jwt.encode(dict(claims), key(by), algorithm="RS256", headers={"kid": by, **header})


def check(token: str, *names: str, expected: Expected = EXPECTED) -> Mapping[str, Any]:
    return verified_claims(token, published(*(names or ("first",))), expected, NOW)


def test_a_token_of_the_provider_is_accepted() -> None:
    assert check(a_token(CLAIMS))["sub"] == "42"


@pytest.mark.parametrize(
    "change",
    [
        {"aud": "another"},
        {"aud": []},
        {"aud": ["muster", "another"]},
        {"aud": ["muster", "another"], "azp": "another"},
        {"azp": "another"},
        {"iss": "https://evil.example.org"},
        {"iss": f"{EXPECTED.issuer}/"},
        {"nonce": "another"},
        {"nonce": None},
        {"exp": NOW - LEEWAY_S - 1},
        {"exp": "tomorrow"},
        {"exp": True},
        {"iat": NOW + LEEWAY_S + 1},
        {"iat": NOW - MAX_AGE_S - 1},
        {"nbf": NOW + LEEWAY_S + 1},
        {"sub": ""},
        *({name: None} for name in ("iss", "sub", "aud", "exp", "iat")),
    ],
    ids=str,
)
def test_a_token_for_something_else_is_refused(change: dict[str, Any]) -> None:
    claims = {name: value for name, value in {**CLAIMS, **change}.items() if value is not None}
    with pytest.raises(NotAuthenticated, match="is not valid"):
        check(a_token(claims))


@pytest.mark.parametrize(
    "change",
    [
        {"exp": NOW - LEEWAY_S + 1},
        {"iat": NOW + LEEWAY_S - 1},
        {"aud": ["muster"]},
        {"aud": ["muster", "another"], "azp": "muster"},
    ],
    ids=str,
)
def test_clocks_may_differ_a_little_and_others_may_be_named_too(change: dict[str, Any]) -> None:
    assert check(a_token({**CLAIMS, **change}))["sub"] == "42"


def test_a_token_without_a_nonce_is_for_logins_without_a_browser_only() -> None:
    claims = {name: value for name, value in CLAIMS.items() if name != "nonce"}
    assert check(a_token(claims), expected=Expected(EXPECTED.issuer, "muster", None))["sub"] == "42"


def test_a_token_without_a_signature_is_refused() -> None:
    token = jwt.encode(CLAIMS, "", algorithm="none")
    for unsigned in (token, token.replace(token.split(".")[0], _part({"alg": "NONE", "kid": "first"}))):
        with pytest.raises(NotAuthenticated, match="is not accepted"):
            check(unsigned)


def test_the_public_key_is_not_a_shared_secret() -> None:
    public = key("first").public_key()
    formats = serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    signed = f"{_part({'alg': 'HS256', 'typ': 'JWT', 'kid': 'first'})}.{_part(CLAIMS)}"
    signature = hmac.new(public.public_bytes(*formats), signed.encode(), hashlib.sha256).digest()
    with pytest.raises(NotAuthenticated, match="is not accepted"):
        check(f"{signed}.{_base64(signature)}")


def test_a_shared_secret_among_the_keys_signs_nothing() -> None:
    secret = {"kty": "oct", "kid": "first", "k": _base64(b"a secret of 32 bytes, for tests!")}
    with pytest.raises(UnknownKey):
        verified_claims(a_token(CLAIMS), [secret], EXPECTED, NOW)


def test_a_key_that_the_provider_does_not_publish_is_refused() -> None:
    with pytest.raises(UnknownKey):
        check(a_token(CLAIMS, by="other"))


def test_another_key_that_calls_itself_like_a_published_one_is_refused() -> None:
    with pytest.raises(NotAuthenticated, match="Signature"):
        check(a_token(CLAIMS, by="other", kid="first"))


def test_a_key_for_encryption_or_another_algorithm_signs_nothing() -> None:
    (first,) = published("first")
    for change in ({"use": "enc"}, {"alg": "PS256"}, {"kty": "EC"}):
        with pytest.raises(UnknownKey):
            verified_claims(a_token(CLAIMS), [first | change], EXPECTED, NOW)


def test_a_new_key_is_found_among_the_old_ones() -> None:
    assert check(a_token(CLAIMS, by="second"), "first", "second")["sub"] == "42"


def test_a_token_that_does_not_name_its_key_needs_a_provider_with_one_key() -> None:
    token = jwt.encode(CLAIMS, key("first"), algorithm="RS256")
    assert check(token, "first")["sub"] == "42"
    with pytest.raises(NotAuthenticated, match="which key"):
        check(token, "first", "second")


def test_a_key_that_can_be_broken_is_refused() -> None:
    signed = jwt.PyJWT({"enforce_minimum_key_length": False}).encode(CLAIMS, key("short"), "RS256", {"kid": "short"})
    with pytest.raises(NotAuthenticated, match="is not valid"):
        check(signed, "short")


@pytest.mark.parametrize("token", ["", "x", "a.b.c", "é.é.é", "x" * 300_000])
def test_what_is_no_token_is_refused(token: str) -> None:
    with pytest.raises(NotAuthenticated, match="is not valid"):
        check(token)


def test_a_key_that_cannot_be_read_is_refused() -> None:
    (first,) = published("first")
    with pytest.raises(NotAuthenticated, match="is not valid"):
        verified_claims(a_token(CLAIMS), [first | {"n": "?"}], EXPECTED, NOW)


def _part(content: Mapping[str, Any]) -> str:
    return _base64(json.dumps(content).encode())


def _base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
