from typing import Any

import pytest

from muster.operator.scheduling.nodes import may_run_on, read_node

_TAINT = {"key": "gpu", "value": "yes", "effect": "NoSchedule"}


def _node(labels: dict[str, str] | None = None, **spec: Any) -> Any:
    return read_node({"metadata": {"name": "n1", "labels": labels or {}}, "spec": spec, "status": {}})


def _affinity(*terms: dict[str, Any]) -> dict[str, Any]:
    required = {"nodeSelectorTerms": list(terms)}
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}}


def _expression(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


@pytest.mark.parametrize(
    ("spec", "labels", "expected"),
    [
        ({}, {}, True),
        ({"nodeName": "n1"}, {}, True),
        ({"nodeName": "n2"}, {}, False),
        ({"nodeSelector": {"zone": "a"}}, {"zone": "a"}, True),
        ({"nodeSelector": {"zone": "a"}}, {"zone": "b"}, False),
        ({"nodeSelector": {"zone": "a"}}, {}, False),
        (_affinity(_expression("zone", "In", "a", "b")), {"zone": "b"}, True),
        (_affinity(_expression("zone", "In", "a")), {"zone": "b"}, False),
        (_affinity(_expression("zone", "NotIn", "a")), {"zone": "b"}, True),
        (_affinity(_expression("zone", "NotIn", "a")), {}, True),
        (_affinity(_expression("zone", "NotIn", "a")), {"zone": "a"}, False),
        (_affinity(_expression("zone", "Exists")), {"zone": ""}, True),
        (_affinity(_expression("zone", "Exists")), {}, False),
        (_affinity(_expression("zone", "DoesNotExist")), {}, True),
        (_affinity(_expression("zone", "DoesNotExist")), {"zone": "a"}, False),
        (_affinity(_expression("cores", "Gt", "8")), {"cores": "16"}, True),
        (_affinity(_expression("cores", "Gt", "16")), {"cores": "16"}, False),
        (_affinity(_expression("cores", "Lt", "32")), {"cores": "16"}, True),
        (_affinity(_expression("cores", "Lt", "32")), {"cores": "many"}, False),
        (_affinity(_expression("zone", "Resembles", "a")), {}, True),
        (_affinity(_expression("zone", "In", "a"), _expression("zone", "In", "b")), {"zone": "b"}, True),
        (_affinity({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}), {}, True),
        (_affinity({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n2"]}]}), {}, False),
        (_affinity({}), {}, False),
        ({"affinity": {"podAntiAffinity": {}}}, {}, True),
        ({"affinity": "odd"}, {}, True),
    ],
)
def test_selectors_and_affinity_decide_where_a_pod_may_run(
    spec: dict[str, Any], labels: dict[str, str], expected: bool
) -> None:
    assert may_run_on(spec, _node(labels)) is expected


@pytest.mark.parametrize(
    ("tolerations", "expected"),
    [
        ([], False),
        ([{"key": "gpu", "operator": "Exists"}], True),
        ([{"operator": "Exists"}], True),
        ([{"key": "gpu", "value": "yes"}], True),
        ([{"key": "gpu", "operator": "Equal", "value": "yes", "effect": "NoSchedule"}], True),
        ([{"key": "gpu", "value": "no"}], False),
        ([{"key": "other", "operator": "Exists"}], False),
        ([{"key": "gpu", "operator": "Exists", "effect": "NoExecute"}], False),
        (["odd"], False),
    ],
)
def test_taints_keep_away_what_does_not_tolerate_them(tolerations: list[Any], expected: bool) -> None:
    assert may_run_on({"tolerations": tolerations}, _node(taints=[_TAINT])) is expected


def test_a_taint_that_only_prefers_keeps_nothing_away() -> None:
    assert may_run_on({}, _node(taints=[{**_TAINT, "effect": "PreferNoSchedule"}]))


def test_a_cordoned_node_takes_nothing_until_it_recovers() -> None:
    node = _node(unschedulable=True)
    assert not may_run_on({}, node)
    assert may_run_on({}, node.recovered)


def test_a_lasting_taint_stays_on_a_node_that_recovers() -> None:
    assert not may_run_on({}, _node(taints=[_TAINT], unschedulable=True).recovered)
