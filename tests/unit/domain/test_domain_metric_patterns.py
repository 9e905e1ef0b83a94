"""Metrics in lines of a log. A pattern of somebody else never takes long, whatever it and the line are."""

import math
import time

import pytest

from muster.domain.experiments.metric_patterns import Found, MetricPatterns, pattern_problem


@pytest.mark.parametrize(
    ("pattern", "line", "found"),
    [
        (r"loss=(?P<loss>\S+)", "epoch 3 loss=0.5 done", [("loss", None, 0.5)]),
        (r"epoch (?P<step>\d+) loss=(?P<loss>\S+)", "epoch 3 loss=1e-3", [("loss", 3, 0.001)]),
        (r"acc: (?P<acc>\S+)", "acc: 93.5%", [("acc", None, 0.935)]),
        (r"loss (?P<loss>[^ ,]+)(, acc (?P<acc>\S+))?", "loss 0.5", [("loss", None, 0.5)]),
        (r"loss (?P<loss>[^ ,]+)(, acc (?P<acc>\S+))?", "loss 0.5, acc 1", [("loss", None, 0.5), ("acc", None, 1.0)]),
        (r"(?P<name>[\w/]+): (?P<value>[0-9.]+)", "val/acc: 0.75", [("val/acc", None, 0.75)]),
        (r"(?P<loss>\w+)", "abc", []),
        (r"损失=(?P<loss>\S+)", "损失=0.5", [("loss", None, 0.5)]),
        (r"loss=(?P<loss>\S+)", "nothing", []),
    ],
)
def test_groups_are_metrics(pattern: str, line: str, found: list[Found]) -> None:
    assert pattern_problem(pattern) == ""
    assert list(MetricPatterns([pattern]).found(line.encode())) == found


def test_values_that_are_not_finite_are_values() -> None:
    patterns = MetricPatterns([r"a=(?P<a>\S+)", r"b=(?P<b>\S+)"])
    (_, _, a), (_, _, b) = patterns.found(b"a=nan b=-inf")
    assert math.isnan(a)
    assert b == -math.inf


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        (r"loss=(\S+)", "no group that names a metric"),
        (r"(?P<step>\d+)", "no group that names a metric"),
        (r"(?P<loss>\d+", "is not a regular expression"),
        (r"(?=x)(?P<loss>\d+)", "is not a regular expression"),
        (r"(?P<loss>(((x{1000}){1000}){1000}){1000})", "is not a regular expression"),
    ],
)
def test_what_cannot_be_a_pattern_is_said(pattern: str, words: str) -> None:
    assert words in pattern_problem(pattern)


def test_a_pattern_that_takes_python_years_takes_no_time() -> None:
    patterns = MetricPatterns([r"(a+)+(?P<loss>b)", r"(.*)*(.*)*(.*)*(?P<acc>!)"])
    begun = time.process_time()
    assert list(patterns.found(b"a" * 100_000)) == []
    assert time.process_time() - begun < 5
