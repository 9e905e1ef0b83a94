"""Which pods a namespace has had, from a watch: one that was made twice is seen although only one is left.

The audit log would not do: a creation whose client died is written there as one that failed.
"""

import contextlib
import json
import threading
from collections import Counter
from types import TracebackType
from typing import Self

import httpx

from tests.parts.kube import KubeNamespace, Refused


class PodHistory:
    """Follows the pods of a namespace while it is open, also over restarts of the API server."""

    def __init__(self, namespace: KubeNamespace) -> None:
        self._kube = namespace.kube
        self._path = f"/api/v1/namespaces/{namespace.name}/pods?watch=1&timeoutSeconds=3600"
        self._names: dict[str, str] = {}
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._follow, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.set()

    def creations(self) -> Counter[str]:
        """How many pods of each name there have been."""
        return Counter(list(self._names.values()))

    def _follow(self) -> None:
        while not self._closing.wait(0.1):
            with contextlib.suppress(Refused, httpx.HTTPError):
                for line in self._kube.lines(self._path):
                    metadata = json.loads(line)["object"]["metadata"]
                    if "uid" in metadata:
                        self._names[metadata["uid"]] = metadata["name"]
