"""Changes of a spec: their short keys, and what is said of a key that does not exist."""

import pytest

from muster.domain.errors import Invalid
from muster.wire.spec_patch import changed_spec
from muster.wire.specs import read_spec

pytestmark = pytest.mark.fast

SPEC = read_spec("name: a\ncommand: x")


@pytest.mark.parametrize(
    ("key", "guess"), [("cpus", "cpu"), ("gups", "gpus"), ("worker", "workers"), ("piority", "priority")]
)
def test_an_unknown_key_is_refused_with_the_nearest_and_all_valid_ones(key: str, guess: str) -> None:
    with pytest.raises(Invalid) as refused:
        changed_spec(SPEC, {key: 2})
    [problem] = refused.value.problems
    assert (problem.path, problem.message) == (key, "unknown key")
    assert problem.hint.startswith(f"did you mean {guess}? valid keys: gpu, gpus, gpuType, cpu, memory, workers, vc, ")
    assert "timeLimit" in problem.hint


def test_a_key_like_no_other_is_refused_with_all_valid_ones_and_the_other_problems() -> None:
    with pytest.raises(Invalid) as refused:
        changed_spec(SPEC, {"zzz": 2, "resources.cpuz": 1})
    hints = {problem.path: problem.hint for problem in refused.value.problems}
    assert hints["zzz"].startswith("valid keys: gpu, ")
    assert hints["roles.worker.resources.cpuz"] == "did you mean cpu?"
