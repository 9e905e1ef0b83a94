"""Keys that a job file does not have are answered with the one that was meant."""

import pytest

from muster.domain.errors import Invalid
from muster.wire import key_hints
from muster.wire.spec_problems import keys_at
from muster.wire.specs import read_spec

pytestmark = pytest.mark.fast


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("replicas: 2\nrun: python t.py", "did you mean command?"),
        ("script: t.py", "did you mean command?"),
        ("gpu: 2", "did you mean resources.gpu?"),
        ("cpus: 2", "did you mean resources.cpu?"),
        ("num_nodes: 2", "did you mean replicas?"),
        ("image: python:3", "did you mean runtime.image?"),
        ("time_limit: 2h", "did you mean timeLimit?"),
        ("timeout: 2h", "did you mean timeLimit?"),
        ("depends_on: a", "did you mean after?"),
        ("framwork: torch", "did you mean framework?"),
        ("resources: {gpus: 2}", "did you mean gpu?"),
        ("resources: {gpu_type: A100}", "did you mean gpuType?"),
        ("roles: {worker: {command: a, cpus: 1}}", "did you mean resources.cpu?"),
        ("roles: {worker: {command: a, run: a}}", "did you mean command?"),
    ],
)
def test_an_unknown_key_is_answered_with_the_one_that_was_meant(line: str, hint: str) -> None:
    with pytest.raises(Invalid) as refused:
        read_spec(f"name: x\n{line}\n")
    assert hint in [problem.hint for problem in refused.value.problems]


@pytest.mark.parametrize("word", ["fish", "banana", "ru", "x"])
def test_a_key_that_resembles_none_gets_no_guess(word: str) -> None:
    assert key_hints.meant((word,), keys_at(())) is None


def test_every_suggested_key_exists() -> None:
    """A hint that names a key which was renamed since would mislead."""
    for table, around in (
        (key_hints._OF_A_JOB, ()),
        (key_hints._OF_A_ROLE, ("roles", "worker")),
        (key_hints._OF_RESOURCES, ("resources",)),
    ):
        for key in table.values():
            *parts, last = key.split(".")
            assert last in keys_at((*around, *parts)), key
