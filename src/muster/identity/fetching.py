"""HTTP to an identity provider: with deadlines, bounded bodies and no redirects, on threads of its own."""

import http.client
import json
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

from muster.domain.errors import Unavailable
from muster.lib.work_pool import PoolFull, WorkPool

MAX_BYTES = 1 << 20
_PIECE_BYTES = 64 << 10
_WITHIN_S = 10.0
_RETRY_AFTER_S = 5.0


@dataclass(frozen=True, slots=True)
class Fetched:
    status: int
    body: Any
    """The JSON of the answer, or None if it is none."""


class Fetching:
    """Asks one provider. A provider that is slow occupies these threads, and never those of others."""

    def __init__(self, ca_file: Path | None = None, within_s: float = _WITHIN_S, max_bytes: int = MAX_BYTES) -> None:
        context = ssl.create_default_context(cafile=None if ca_file is None else str(ca_file))
        self._opener = urllib.request.build_opener(_NoRedirects, urllib.request.HTTPSHandler(context=context))
        self._within_s = within_s
        self._max_bytes = max_bytes
        self._pool = WorkPool("identity", threads=4, waiting=32)

    async def get(self, url: str, headers: Mapping[str, str] | None = None) -> Fetched:
        return await self._run(urllib.request.Request(url, headers=dict(headers or {})))  # noqa: S310

    async def post(self, url: str, form: Mapping[str, str], headers: Mapping[str, str] | None = None) -> Fetched:
        return await self._run(urllib.request.Request(url, urlencode(form).encode(), dict(headers or {})))  # noqa: S310

    async def _run(self, request: urllib.request.Request) -> Fetched:
        request.add_header("Accept", "application/json")
        try:
            return await self._pool.run(self._fetch, request)
        except PoolFull:
            raise Unavailable(
                "too many people are logging in right now", hint="try again in a moment", retry_after_s=2.0
            ) from None

    def _fetch(self, request: urllib.request.Request) -> Fetched:
        host = urlsplit(request.full_url).netloc
        try:
            with self._opener.open(request, timeout=self._within_s) as answer:
                return Fetched(answer.status, self._json(answer))
        except urllib.error.HTTPError as error:
            with error:
                return Fetched(error.code, self._json(error))
        except (OSError, http.client.HTTPException, _TooMuch) as error:
            raise Unavailable(
                f"the identity provider {host} does not answer: {_words(error)}",
                hint="try again later; tokens and other ways to log in still work",
                retry_after_s=_RETRY_AFTER_S,
            ) from None

    def _json(self, answer: Any) -> Any:
        deadline = time.monotonic() + self._within_s
        data = b""
        while piece := answer.read1(_PIECE_BYTES):
            data += piece
            if len(data) > self._max_bytes:
                raise _TooMuch(f"its answer has more than {self._max_bytes} bytes")
            if time.monotonic() > deadline:
                raise TimeoutError("timed out")
        try:
            return json.loads(data)
        except ValueError:
            return None


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A provider answers these requests itself; a redirect might take secrets elsewhere."""

    def redirect_request(self, *_: Any) -> None:
        return None


class _TooMuch(Exception):
    pass


def _words(error: Exception) -> str:
    reason = error.reason if isinstance(error, urllib.error.URLError) else error
    if isinstance(reason, OSError) and reason.strerror:
        return reason.strerror.lower()
    return str(reason) or type(reason).__name__
