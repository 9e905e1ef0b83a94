"""MLflow's filter language and its orders, condition by condition."""

import pytest

from muster.domain.errors import Invalid
from muster.server.compatibility.mlflow.filters import Value, conditions, orders

RUN: dict[tuple[str, str], Value] = {
    ("metrics", "loss"): 0.5,
    ("metrics", "val loss"): 0.75,
    ("metrics", "bad"): float("nan"),
    ("params", "lr"): "0.1",
    ("params", "opt"): "Adam",
    ("tags", "mlflow.user"): "ada",
    ("attributes", "status"): "FINISHED",
    ("attributes", "start_time"): 1_700_000_000_000,
    ("attributes", "run_name"): "a 50% net",
}


def holds(text: str | None) -> bool:
    return all(one.holds(RUN.get((one.kind, one.name))) for one in conditions(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (None, True),
        ("  ", True),
        ("metrics.loss < 0.6", True),
        ("metric.loss<=0.4", False),
        ("metrics.loss >= 5e-1 AND metrics.loss != -1", True),
        ('metrics."val loss" > 0.7 and metrics.`val loss` < 0.8', True),
        ("metrics.bad > 0", False),
        ("metrics.none != 1", False),
        ("params.lr = '0.1'", True),
        ('params.lr = "0.1"', True),
        ("params.opt = 'adam'", False),
        ("params.opt ILIKE 'aD_m'", True),
        ("params.opt LIKE 'A%'", True),
        ("params.opt LIKE 'd%'", False),
        ("attributes.run_name LIKE '%50% net'", True),
        ("tags.mlflow.user != 'bob'", True),
        ("tags.none != 'bob'", False),
        ("tags.none IS NULL", True),
        ("tags.mlflow.user IS NOT NULL", True),
        ("status = 'FINISHED'", True),
        ("attributes.status IN ('FAILED', 'FINISHED')", True),
        ("attr.status NOT IN ('FAILED','FINISHED')", False),
        ("attributes.start_time > 1600000000000", True),
        ("created < 1600000000000", False),
        ("params.opt = 'Adam' AND metrics.loss > 1", False),
    ],
)
def test_a_filter_holds(text: str | None, expected: bool) -> None:
    assert holds(text) is expected


@pytest.mark.parametrize(
    "text",
    [
        *("metrics.loss", "metrics.loss <", "metrics.loss < 'a'", "metrics.loss LIKE '1'", "params.lr = 0.1"),
        *("params.lr > '0.1'", "nonsense = 'a'", "metrics.a > 1 OR metrics.a < 0", "metrics.a > 1 AND", "' ("),
        *("status IN 'a'", "status IN ('a'", "status IS 'a'", "tags.a NOT 'b'", "params.'a = 'b'", "a\0b = 'c'"),
        " AND ".join(["metrics.a > 1"] * 101),
    ],
)
def test_what_is_no_filter_is_refused(text: str) -> None:
    with pytest.raises(Invalid):
        conditions(text)


def test_orders_have_a_direction() -> None:
    found = orders(["metrics.loss DESC", "start_time", "tags.`a b` asc"])
    assert [(one.kind, one.name, one.is_descending) for one in found] == [
        ("metrics", "loss", True),
        ("attributes", "start_time", False),
        ("tags", "a b", False),
    ]
    with pytest.raises(Invalid):
        orders(["metrics.loss sideways"])


@pytest.mark.parametrize(
    ("pattern", "value", "expected"),
    [
        ("", "", True),
        ("", "a", False),
        ("%", "", True),
        ("_", "", False),
        ("%%", "a\nb", True),
        ("a.c", "abc", False),
        ("a%a", "a", False),
        ("a%a", "aa", True),
        ("%ab%b", "abab", True),
        ("%ab%ab", "aab", False),
        ("%a_c%", "aacabc", True),
        ("%_a_b", "aaaab", True),
        ("%_a_b", "aab", False),
        ("__%", "a", False),
        ("%x__%y", "axbcdy", True),
        ("%x___y", "xaxbcy", False),
    ],
)
def test_a_pattern_matches_the_whole_text(pattern: str, value: str, expected: bool) -> None:
    (condition,) = conditions(f"tags.a LIKE '{pattern}'")
    assert condition.holds(value) is expected


def test_a_pattern_is_short_and_has_few_wildcards() -> None:
    """Patterns of thousands of wildcards have kept the server busy for many seconds."""
    for pattern in ("a" * 251, "%a_" * 3300, "%" * 33):
        with pytest.raises(Invalid):
            conditions(f"tags.a LIKE '{pattern}'")
    (condition,) = conditions(f"tags.a LIKE '{'%a_' * 15}c'")
    assert not condition.holds("ba" * 4000)


def test_what_one_search_compares_is_bounded() -> None:
    (condition,) = conditions(f"tags.a LIKE '{'%a_' * 15}c'")
    values = ("ba" * 4000 for _ in range(1000))
    with pytest.raises(Invalid, match="too much text"):
        any(condition.holds(value) for value in values)
