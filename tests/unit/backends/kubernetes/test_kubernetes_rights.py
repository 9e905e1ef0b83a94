"""Which rights `muster cluster check --connect` asks about."""

from typing import Any

import pytest

from muster.backends.kubernetes.options import JobObjects, KubernetesOptions
from muster.backends.kubernetes.rights import needed_rights

pytestmark = pytest.mark.fast


def places(options: KubernetesOptions, *, has_paddle_jobs: bool = True) -> set[tuple[str, str | None]]:
    found = needed_rights(options, "default", has_paddle_jobs=has_paddle_jobs)
    return {(right.what, right.namespace) for right in found}


def test_tasks_need_rights_in_their_namespace_alone() -> None:
    found = places(KubernetesOptions(namespace="ml"))
    assert {("pods", "ml"), ("pods/log", "ml"), ("paddlejobs", "ml"), ("pods", None), ("nodes", None)} <= found
    assert {("pods/exec", "ml"), ("pods.metrics.k8s.io", "ml"), ("nodes.metrics.k8s.io", None)} <= found
    assert ("namespaces", None) not in found
    assert ("configmaps", "default") in places(KubernetesOptions())


def test_a_namespace_for_each_user_needs_rights_everywhere() -> None:
    found = places(KubernetesOptions(namespace="muster-{user}"))
    assert {namespace for _, namespace in found} == {None}
    assert ("namespaces", None) in found


@pytest.mark.parametrize(
    ("fields", "has_paddle_jobs", "expected"),
    [
        ({"jobs": JobObjects.PODS}, True, set()),
        ({}, False, set()),
        ({"shows_foreign_jobs": True, "jobs": JobObjects.PODS}, True, {None}),
        ({"shows_foreign_jobs": True, "foreign_namespaces": ("a", "b")}, False, {"a", "b"}),
    ],
)
def test_paddle_jobs_need_rights_where_they_are_used(
    fields: dict[str, Any], has_paddle_jobs: bool, expected: set[str | None]
) -> None:
    found = places(KubernetesOptions(namespace="ml", **fields), has_paddle_jobs=has_paddle_jobs)
    assert {namespace for what, namespace in found if what == "paddlejobs"} == expected
