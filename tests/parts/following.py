"""Follows a watch of the API server in a thread, so that nothing is missed between two looks."""

import contextlib
import json
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

import httpx

from tests.parts.kube import Kube, Refused

_PAUSE_S = 0.1


class Following:
    """Calls `note` with each event while it is open. A watch that ends or is refused is begun again: the API server may
    restart, and does not serve a new resource at once."""

    def __init__(self, kube: Kube, path: str, note: Callable[[dict[str, Any]], None]) -> None:
        self._kube, self._path, self._note = kube, path, note
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._follow, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.set()

    def _follow(self) -> None:
        while not self._closing.wait(_PAUSE_S):
            with contextlib.suppress(Refused, httpx.HTTPError):
                for line in self._kube.lines(self._path):
                    if self._closing.is_set():
                        return
                    self._note(json.loads(line))
