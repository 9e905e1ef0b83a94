"""Credentials for registries, as docker and podman write them to their config.json. Problems never quote a value."""

import base64
import binascii
import json
from collections.abc import Mapping
from typing import Any

from muster.domain.errors import Invalid

_HINT = "after `docker login`: muster secret set NAME --from-file ~/.docker/config.json"
_DOCKER_HUB = "docker.io"
_HUB_NAMES = ("docker.io", "index.docker.io", "registry-1.docker.io")


def registry_config(value: bytes) -> bytes:
    """The part of a config.json that has credentials, without settings of the client. Raises Invalid."""
    found = _auths(value)
    return json.dumps({"auths": found}, sort_keys=True).encode()


def login_for(image: str, value: bytes) -> tuple[str, str] | None:
    """The user and password for the registry of the image, if there are any: of the longest name that fits."""
    wanted = _repository(image)
    fitting = {name: entry for key, entry in _auths(value).items() if _fits(name := _registry(key), wanted)}
    return _login(fitting[max(fitting, key=len)]) if fitting else None


def _auths(value: bytes) -> dict[str, Mapping[str, Any]]:
    try:
        document = json.loads(value)
    except ValueError:
        raise Invalid("the secret is not a docker config.json", hint=_HINT) from None
    auths = document.get("auths") if isinstance(document, Mapping) else None
    if not isinstance(auths, Mapping) or not auths:
        raise Invalid("the secret has no `auths`, as a docker config.json has them", hint=_HINT)
    found = {str(key): entry for key, entry in auths.items() if isinstance(entry, Mapping) and _has_login(entry)}
    if not found:
        message = "no entry of `auths` in the secret has credentials in itself, only references to a credential store"
        raise Invalid(message, hint=_HINT)
    return found


def _has_login(entry: Mapping[str, Any]) -> bool:
    return bool(entry.get("identitytoken") or entry.get("registrytoken")) or _login(entry) is not None


def _login(entry: Mapping[str, Any]) -> tuple[str, str] | None:
    user, password = entry.get("username"), entry.get("password")
    if isinstance(user, str) and isinstance(password, str):
        return user, password
    try:
        text = base64.b64decode(str(entry.get("auth") or ""), validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return None
    user, colon, password = text.partition(":")
    return (user, password) if colon else None


def _registry(key: str) -> str:
    """Old versions of docker write addresses such as `https://index.docker.io/v1/`."""
    name = key.partition("://")[2] or key
    name = name.removesuffix("/").removesuffix("/v1").removesuffix("/v2")
    host, slash, rest = name.partition("/")
    return f"{_DOCKER_HUB if host in _HUB_NAMES else host}{slash}{rest}"


def _repository(image: str) -> str:
    name = image.partition("://")[2] or image
    first, slash, _ = name.partition("/")
    is_host = bool(slash) and ("." in first or ":" in first or first == "localhost")
    return _registry(name) if is_host else f"{_DOCKER_HUB}/{name}"


def _fits(registry: str, repository: str) -> bool:
    return repository == registry or repository.startswith(f"{registry}/")
