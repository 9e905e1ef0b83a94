"""Jobs side by side in a table."""

import pytest

from muster.cli.run_tables import compared

pytestmark = pytest.mark.fast
_NONE = ("package", "cost", "peakMemoryBytes", "gpuPercent")
COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.mark.parametrize(
    ("commit", "shown"),
    [(COMMIT, "0123456789ab"), (f"{COMMIT}-dirty", "0123456789ab-dirty"), ("0123456-dirty", "0123456-dirty")],
)
def test_a_commit_is_short_and_says_whether_the_code_was_changed(commit: str, shown: str) -> None:
    texts = dict.fromkeys(("id", "name", "owner", "state", "submittedAt", "trackingUrl"), "x")
    use = {"ranS": 1.0, "gpuHours": 0.0, **dict.fromkeys(_NONE)}
    _, lines = compared([{**texts, **use, "commit": commit, "params": {}, "env": {}, "metrics": {}}])
    assert ["commit", shown] in lines
