"""Real frameworks, told who is who by Muster alone. Their interpreter comes from scripts/install-frameworks.sh."""

import os
from pathlib import Path

import pytest

from tests.e2e.example_runs import (
    EXAMPLES,
    INTERPRETER_VARIABLE,
    MusterServer,
    assert_ranks_agree,
    run_with_framework,
)

PYTHON = Path(os.environ.get(INTERPRETER_VARIABLE, EXAMPLES.parent / ".venv-frameworks/bin/python")).absolute()

pytestmark = [
    pytest.mark.frameworks,
    pytest.mark.skipif(not PYTHON.exists(), reason=f"no {PYTHON}: run scripts/install-frameworks.sh"),
]


def test_paddle_collective_sums_and_trains_over_gloo(muster_server: MusterServer, tmp_path: Path) -> None:
    assert_ranks_agree(run_with_framework(muster_server, "paddle-collective", tmp_path, PYTHON))


def test_paddle_workers_learn_from_each_other_through_parameter_servers(
    muster_server: MusterServer, tmp_path: Path
) -> None:
    run = run_with_framework(muster_server, "paddle-ps", tmp_path, PYTHON)

    assert run.state == "Succeeded"
    assert run.exit_codes("worker") == [0, 0]
    for worker in ("worker 0", "worker 1"):
        losses = run.losses(worker)
        assert losses[-1] < losses[0] / 100
    errors = [float(error) for error in run.found(r"largest error over all users ([\d.]+)")]
    assert len(errors) == 2
    assert max(errors) < 0.15


def test_jax_processes_find_each_other_and_sum(muster_server: MusterServer, tmp_path: Path) -> None:
    run = run_with_framework(muster_server, "jax-psum", tmp_path, PYTHON)

    assert run.state == "Succeeded"
    assert run.exit_codes("worker") == [0, 0]
    sums = run.found(r"rank (\d) of 2 sum ([\d.]+) .* ranks seen: (\[[\d, ]+\])")
    assert sorted(sums) == [("0", "3.0", "[0, 1]"), ("1", "3.0", "[0, 1]")]


def test_tensorflow_workers_sum_and_train_together(muster_server: MusterServer, tmp_path: Path) -> None:
    run = run_with_framework(muster_server, "tensorflow-workers", tmp_path, PYTHON)

    assert run.state == "Succeeded"
    assert run.exit_codes("worker") == [0, 0]
    assert sorted(run.found(r"rank (\d) of 2 sum ([\d.]+)")) == [("0", "3.0"), ("1", "3.0")]
    assert sorted(run.found(r"rank (\d) weights .* right: True")) == ["0", "1"]
