from typing import Any

import pytest

from muster.kubernetes.amounts import pod_requests, quantity, thousandths


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("1", 1000),
        (2, 2000),
        (0.5, 500),
        ("500m", 500),
        ("1500m", 1500),
        (".5", 500),
        ("1.", 1000),
        ("1u", 1),
        ("1n", 1),
        ("1k", 1_000_000),
        ("1Ki", 1_024_000),
        ("1.5Gi", 1_610_612_736_000),
        ("2M", 2_000_000_000),
        ("1e3", 1_000_000),
        ("1E3", 1_000_000),
        ("1E", 10**21),
        ("12E-1", 1200),
        ("0", 0),
        ("-1", 0),
        ("", 0),
        ("two", 0),
        ("1 Gi", 0),
    ],
)
def test_quantities_are_read_as_kubernetes_writes_them(written: Any, expected: int) -> None:
    assert thousandths(written) == expected


@pytest.mark.parametrize(
    ("amount", "written"), [(1000, "1"), (1500, "1500m"), (0, "0"), (1_073_741_824_000, "1073741824")]
)
def test_amounts_are_written_exactly(amount: int, written: str) -> None:
    assert quantity(amount) == written
    assert thousandths(written) == amount


def _container(requests: dict[str, Any] | None = None, limits: dict[str, Any] | None = None, **more: Any) -> Any:
    return {"resources": {"requests": requests, "limits": limits}, **more}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"containers": [{}]}, {}),
        ({"containers": [_container({"cpu": "1"}), _container({"cpu": "500m"})]}, {"cpu": 1500}),
        ({"containers": [_container(limits={"a.b/gpu": 2})]}, {"a.b/gpu": 2000}),
        ({"containers": [_container({"cpu": 1}, {"cpu": 4, "a.b/gpu": 1})]}, {"cpu": 1000, "a.b/gpu": 1000}),
        (
            {
                "containers": [_container({"cpu": 1})],
                "initContainers": [_container({"cpu": 3}), _container({"cpu": 2})],
            },
            {"cpu": 3000},
        ),
        (
            {
                "containers": [_container({"cpu": 1})],
                "initContainers": [_container({"cpu": 1}, restartPolicy="Always"), _container({"cpu": 2})],
            },
            {"cpu": 3000},
        ),
        ({"containers": [_container({"cpu": 1})], "overhead": {"cpu": "250m"}}, {"cpu": 1250}),
        (
            {"containers": [_container({"cpu": 1, "a.b/gpu": 1})], "resources": {"requests": {"cpu": 4}}},
            {"cpu": 4000, "a.b/gpu": 1000},
        ),
        ({"containers": [_container({"cpu": "0"})]}, {}),
        ({"containers": "none"}, {}),
        ({"containers": [_container({"cpu": ["odd"]})]}, {}),
    ],
)
def test_a_pod_requests_what_the_scheduler_counts(spec: dict[str, Any], expected: dict[str, int]) -> None:
    assert pod_requests(spec) == {**expected, "pods": 1000}
