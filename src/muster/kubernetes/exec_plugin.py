"""Tokens from a program, as kubeconfigs name it under `exec`. A token is kept until the API server refuses it."""

import asyncio
import json
import os
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any

import httpx2

from muster.domain.errors import Invalid, Unreachable

_VERSIONS = tuple(f"client.authentication.k8s.io/{version}" for version in ("v1", "v1beta1", "v1alpha1"))
_REQUEST = "KUBERNETES_EXEC_INFO"
_TIMEOUT_S = 60.0
_UNAUTHORIZED = 401
_SHOWN = 500


class ExecPlugin(httpx2.Auth):
    """Raises Invalid if the plugin can never be used, and Unreachable if it fails."""

    def __init__(self, *, api_version: str, command: Sequence[str], variables: Mapping[str, str]) -> None:
        if api_version not in _VERSIONS:
            raise Invalid(
                f"the exec plugin {command[0]} speaks {api_version}, which Muster does not support",
                hint=f"use one that speaks {_VERSIONS[0]}",
            )
        self._command = tuple(command)
        self._name = f"the exec plugin {command[0]}"
        request = {"apiVersion": api_version, "kind": "ExecCredential", "spec": {"interactive": False}}
        self._variables = {**variables, _REQUEST: json.dumps(request)}
        self._token = ""
        self._asking = asyncio.Lock()

    async def async_auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        used = self._token or await self._renewed("")
        request.headers["Authorization"] = f"Bearer {used}"
        response = yield request
        if response.status_code == _UNAUTHORIZED:
            request.headers["Authorization"] = f"Bearer {await self._renewed(used)}"
            yield request

    async def _renewed(self, refused: str) -> str:
        """A token other than the one that was refused. Requests that need one at the same time ask the plugin once."""
        async with self._asking:
            if self._token == refused:
                self._token = self._read(await self._run())
            return self._token

    async def _run(self) -> bytes:
        try:
            async with asyncio.timeout(_TIMEOUT_S):
                process = await asyncio.create_subprocess_exec(
                    *self._command,
                    env={**os.environ, **self._variables},
                    stdin=asyncio.subprocess.DEVNULL,
                    stdout=asyncio.subprocess.PIPE,
                    stderr=asyncio.subprocess.PIPE,
                )
                try:
                    written, said = await process.communicate()
                finally:
                    if process.returncode is None:
                        process.kill()
        except FileNotFoundError as error:
            raise Invalid(f"{self._name} is not installed", hint="install it, or use a token") from error
        except (OSError, TimeoutError) as error:
            raise Unreachable(f"{self._name} gave no answer: {error or 'it took too long'}") from error
        if process.returncode:
            words = said.decode(errors="replace").strip()[-_SHOWN:]
            raise Unreachable(f"{self._name} ended with code {process.returncode}: {words}")
        return written

    def _read(self, written: bytes) -> str:
        """What was written is never shown: it is a credential."""
        try:
            told: Any = json.loads(written)
            status = told["status"]
            token = status.get("token")
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise Invalid(f"{self._name} did not answer with an ExecCredential") from error
        if token:
            return str(token)
        if status.get("clientCertificateData"):
            raise Invalid(
                f"{self._name} returned a client certificate, which Muster does not support",
                hint="use a plugin that returns a token, or write the certificate into the kubeconfig",
            )
        raise Invalid(f"{self._name} returned no token")
