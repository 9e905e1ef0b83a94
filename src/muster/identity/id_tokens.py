"""Verification of ID tokens, as OpenID Connect Core 3.1.3.7 demands it. It reads no clock and asks nobody."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

from muster.domain.errors import NotAuthenticated

LEEWAY_S = 60.0
"""How far the clocks of the provider and of this server may be apart."""
MAX_AGE_S = 3600.0
"""A token that was issued earlier than this was not issued for the login that it is used for."""
MAX_TOKEN_BYTES = 256 << 10
_LEAST_RSA_BITS = 2048
_KINDS = {
    **dict.fromkeys(("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"), "RSA"),
    **dict.fromkeys(("ES256", "ES384", "ES512"), "EC"),
    "EdDSA": "OKP",
}
"""The algorithms that are accepted, each with the kind of its key. All are asymmetric: a secret that the provider and
this server share proves nothing about who has signed."""


class UnknownKey(NotAuthenticated):
    """No known key has signed the token: the provider may have changed its keys since they were fetched."""


@dataclass(frozen=True, slots=True)
class Expected:
    issuer: str
    client_id: str
    nonce: str | None
    """None for a login without a browser, which has none."""


def verified_claims(token: str, keys: Sequence[Mapping[str, Any]], expected: Expected, now: float) -> Mapping[str, Any]:
    """Returns the claims of a token that proves who somebody is, and raises NotAuthenticated for any other."""
    if len(token) > MAX_TOKEN_BYTES:
        raise _refused("it is too long")
    try:
        header = jwt.get_unverified_header(token)
        key = _key_for(header, keys)
        claims = jwt.decode(
            token,
            key,
            algorithms=[str(header["alg"])],
            audience=expected.client_id,
            issuer=expected.issuer,
            options={
                "require": ["iss", "sub", "aud", "exp", "iat"],
                "verify_exp": False,
                "verify_iat": False,
                "verify_nbf": False,
            },
        )
    except jwt.PyJWTError as error:
        raise _refused(str(error)) from None
    _check_times(claims, now)
    _check_parties(claims, expected)
    return claims


def _key_for(header: Mapping[str, Any], keys: Sequence[Mapping[str, Any]]) -> jwt.PyJWK:
    algorithm = header.get("alg")
    if not isinstance(algorithm, str) or algorithm not in _KINDS:
        raise _refused(f"the algorithm {algorithm!r} is not accepted")
    fitting = [key for key in keys if _fits(key, algorithm)]
    named = header.get("kid")
    if named is not None:
        fitting = [key for key in fitting if key.get("kid") == named]
    if not fitting:
        raise UnknownKey("the provider does not publish the key that signed its token")
    if len(fitting) > 1:
        raise _refused("it does not say which key signed it")
    found = jwt.PyJWK(dict(fitting[0]), algorithm=algorithm)
    if isinstance(found.key, RSAPublicKey) and found.key.key_size < _LEAST_RSA_BITS:
        raise _refused("its key is too short")
    return found


def _fits(key: Mapping[str, Any], algorithm: str) -> bool:
    return (
        key.get("kty") == _KINDS[algorithm]
        and key.get("use", "sig") == "sig"
        and key.get("alg", algorithm) == algorithm
    )


def _check_times(claims: Mapping[str, Any], now: float) -> None:
    times = {name: claims.get(name) for name in ("exp", "iat", "nbf")}
    if any(isinstance(at, bool) or not isinstance(at, int | float) for at in times.values() if at is not None):
        raise _refused("its times are not numbers")
    if float(claims["exp"]) <= now - LEEWAY_S:
        raise _refused("it has expired")
    if not now - MAX_AGE_S <= float(claims["iat"]) <= now + LEEWAY_S:
        raise _refused("it was not issued just now; are the clocks of both machines right?")
    if float(times["nbf"] or 0.0) > now + LEEWAY_S:
        raise _refused("it is not valid yet")


def _check_parties(claims: Mapping[str, Any], expected: Expected) -> None:
    if not isinstance(claims["sub"], str) or not claims["sub"]:
        raise _refused("it names nobody")
    several = isinstance(claims["aud"], list) and len(claims["aud"]) > 1
    if (several or "azp" in claims) and claims.get("azp") != expected.client_id:
        raise _refused("it was issued to another program")
    if expected.nonce is not None and claims.get("nonce") != expected.nonce:
        raise _refused("it was issued for another login")


def _refused(why: str) -> NotAuthenticated:
    return NotAuthenticated(f"the token of the identity provider is not valid: {why}")
