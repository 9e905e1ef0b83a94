"""Which pods a namespace has had, from a watch: one that was made twice is seen although only one is left.

The audit log would not do: a creation whose client died is written there as one that failed.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.parts.following import Following
from tests.parts.kube import KubeNamespace


class PodHistory:
    def __init__(self) -> None:
        self._names: dict[str, str] = {}

    def creations(self) -> Counter[str]:
        """How many pods of each name there have been."""
        return Counter(list(self._names.values()))

    def note(self, event: dict[str, Any]) -> None:
        metadata = event["object"]["metadata"]
        if "uid" in metadata:
            self._names[metadata["uid"]] = metadata["name"]


@contextmanager
def pod_history(namespace: KubeNamespace) -> Iterator[PodHistory]:
    """Follows the pods of a namespace while it is open, also over restarts of the API server."""
    history = PodHistory()
    path = f"/api/v1/namespaces/{namespace.name}/pods?watch=1&timeoutSeconds=3600"
    with Following(namespace.kube, path, history.note):
        yield history
