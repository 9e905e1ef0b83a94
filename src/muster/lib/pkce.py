"""Proof Key for Code Exchange (RFC 7636): only the program that began a login can use the code that ends it."""

import base64
import hashlib
import secrets


def new_verifier() -> str:
    return secrets.token_urlsafe(48)


def challenge_of(verifier: str) -> str:
    """What the method S256 shows of the secret."""
    return base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()


def short_code(challenge: str) -> str:
    """Eight characters of a challenge, for people who compare what two screens show."""
    code = base64.b32encode(hashlib.sha256(challenge.encode()).digest()).decode()
    return f"{code[:4]}-{code[4:8]}"
