"""What the file of rules of alerts refuses."""

from pathlib import Path

import pytest

from muster.domain.errors import Invalid
from muster.settings.alerts_reading import read_alerts_config

pytestmark = pytest.mark.fast


@pytest.mark.parametrize(
    ("rule", "check", "threshold"), [("NodeMemoryUsage", "node-memory", 900), ("JobHung", "job-hung", 200)]
)
def test_a_percentage_that_is_never_reached_is_refused_with_its_line(
    tmp_path: Path, rule: str, check: str, threshold: int
) -> None:
    file = tmp_path / "alerts.yaml"
    file.write_text(f"interval: 1s\nrules:\n  {rule}:\n    threshold: {threshold}\n")
    with pytest.raises(Invalid) as raised:
        read_alerts_config(file)
    (problem,) = raised.value.problems
    assert (problem.path, problem.line) == (f"rules.{rule}.threshold", 4)
    assert problem.message == f"is {threshold}, but {check} compares percentages, from 0 to 100"


@pytest.mark.parametrize("rule", ["NodeMemoryUsage: {threshold: 100}", "QueueTooLong: {threshold: 900}"])
def test_other_thresholds_are_taken(tmp_path: Path, rule: str) -> None:
    file = tmp_path / "alerts.yaml"
    file.write_text(f"rules:\n  {rule}\n")
    assert read_alerts_config(file).rules


def test_a_rule_without_a_threshold_has_that_of_the_default_rule_with_its_check(tmp_path: Path) -> None:
    file = tmp_path / "alerts.yaml"
    file.write_text("rules:\n  Mine: {check: gpu-temperature, for: 1m}\n  Hung: {check: job-stalled}\n")
    thresholds = {rule.name: rule.threshold for rule in read_alerts_config(file).rules}
    assert (thresholds["Mine"], thresholds["Hung"]) == (90, 2)
