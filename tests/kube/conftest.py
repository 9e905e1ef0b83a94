"""A real cluster for all tests of this folder, a namespace for each of them, and an operator that serves it."""

import re
import secrets
from collections.abc import Iterator

import pytest

from scripts.kube.cluster import Cluster
from tests.parts.kube import Kube, KubeNamespace, new_namespace


@pytest.fixture(scope="session")
def kube(kube_cluster: Cluster) -> Iterator[Kube]:
    client = Kube(kube_cluster)
    yield client
    client.close()


@pytest.fixture
def namespace(kube: Kube, request: pytest.FixtureRequest) -> Iterator[KubeNamespace]:
    """An empty namespace, which is removed after the test."""
    words = re.sub(r"[^a-z0-9]+", "-", request.node.name.lower()).strip("-")[:40]
    created = new_namespace(kube, f"{words}-{secrets.token_hex(3)}".removeprefix("test-"))
    yield created
    created.remove()
