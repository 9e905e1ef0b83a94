"""The guide on scheduling says what the scheduler does: its numbers, its policies, its reasons."""

import re

import pytest

from muster.domain.virtual_clusters import OrderPolicy
from muster.scheduling.allocations import running_ranks
from muster.scheduling.ordering import order_policies, wait_queue
from muster.scheduling.preemption import preemption_policy
from tests.unit.docs.pages import ROOT

pytestmark = pytest.mark.fast

GUIDE = (ROOT / "docs/guides/scheduling.md").read_text(encoding="utf-8")
DECISION = (ROOT / "docs/adr/0010-default-order.md").read_text(encoding="utf-8")
_CODE = re.compile(r'Reason\(\s*f?"([a-z{}-]+)"')
_TOLD_WHEN_LEAVING = {"reclaimed", "preempted", "resize"}
_TOLD_AT_SUBMISSION = {"never"}


@pytest.mark.parametrize("page", [GUIDE, DECISION], ids=["guide", "decision"])
def test_aging_is_as_written(page: str) -> None:
    days, runs = order_policies.AGING_S / 86400, order_policies.AGING_RUNS

    assert f"{days:g} days, plus {runs:g} times as long" in page


def test_the_bound_follows_from_aging() -> None:
    hours = order_policies.AGING_S / 3600 + order_policies.AGING_RUNS

    assert f"after {wait_queue.TOP_PRIORITY - 1} × {hours:g} hours" in GUIDE


def test_what_may_be_lost_is_as_written() -> None:
    assert preemption_policy.WORTH == 0.25
    assert "at most a quarter of the work" in GUIDE
    assert preemption_policy.GROW_LOSS_S == 60.0
    assert "loses less than a minute" in GUIDE
    assert running_ranks.PROTECTED_S == 3600.0
    assert "its first hour of run time" in GUIDE


def test_every_policy_is_explained() -> None:
    assert {policy for policy in OrderPolicy if f"| `{policy}` |" not in GUIDE} == set()


def test_every_reason_to_wait_is_explained() -> None:
    source = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "src/muster/scheduling").rglob("*.py"))
    codes = set(_CODE.findall(source)) - _TOLD_WHEN_LEAVING - _TOLD_AT_SUBMISSION
    codes = {code.replace("{kind}", kind) for code in codes for kind in ("gpu", "cpu", "memory", "device")}

    assert {"limit", "fragmented", "no-free-gpu"} <= codes
    assert {code for code in codes if f"`{code}`" not in GUIDE} == set()
