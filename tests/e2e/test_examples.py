"""The examples that need nothing but Python, run through the whole platform."""

from pathlib import Path

import pytest

from tests.e2e.example_runs import EXAMPLES, MusterServer, run_example

SHARDED_DATA = EXAMPLES / "file-sharding" / "src"


def test_wide_and_deep_learns_over_two_parameter_servers(muster_server: MusterServer) -> None:
    run = run_example(muster_server, EXAMPLES / "wide-and-deep-ps" / "job.yaml")

    assert run.state == "Succeeded"
    assert set(run.tasks) == {"ps-0", "ps-1", "worker-0", "worker-1"}
    assert run.exit_codes("worker") == [0, 0]
    for worker in ("worker 0", "worker 1"):
        losses = run.losses(worker)
        assert len(losses) == 5
        assert losses[-1] < losses[0] / 1.5
    accuracies = [float(accuracy) for accuracy in run.found(r"held-out accuracy ([\d.]+)")]
    assert len(accuracies) == 2
    assert min(accuracies) >= 0.9


def test_parameter_servers_of_an_ended_job_were_stopped_cleanly(muster_server: MusterServer) -> None:
    run = run_example(muster_server, EXAMPLES / "wide-and-deep-ps" / "job.yaml")

    assert run.exit_codes("ps") == [0, 0]
    held = [int(parameters) for parameters in run.found(r"stopped, holding (\d+) parameters")]
    assert len(held) == 2
    assert min(held) > 0, "a server that holds nothing was not used"


def test_ring_ends_with_identical_right_weights_on_all_ranks(muster_server: MusterServer) -> None:
    run = run_example(muster_server, EXAMPLES / "collective-ring" / "job.yaml")

    assert run.state == "Succeeded"
    assert run.exit_codes("worker") == [0, 0]
    assert run.losses("rank 0") == run.losses("rank 1"), "an all-reduced loss is the same everywhere"
    assert run.losses("rank 0")[-1] < 1e-4
    weights = run.found(r"weights ([-\d. ]+) identical on all ranks: True, right: True")
    assert len(weights) == 2
    assert weights[0] == weights[1]


def test_hello_is_told_who_it_is(muster_server: MusterServer) -> None:
    run = run_example(muster_server, EXAMPLES / "hello" / "job.yaml")

    assert run.state == "Succeeded"
    told = dict(run.found(r"(MUSTER_\w+|CUDA_VISIBLE_DEVICES)=(.*)"))
    assert told["MUSTER_JOB_NAME"] == "hello"
    assert (told["MUSTER_ROLE"], told["MUSTER_ROLE_INDEX"]) == ("worker", "0")
    assert (told["MUSTER_RANK"], told["MUSTER_WORLD_SIZE"], told["MUSTER_ATTEMPT"]) == ("0", "1", "1")
    assert told["CUDA_VISIBLE_DEVICES"] == "", "a task without GPUs sees none"
    assert run.found(r"hello from (\S+) on") == [told["MUSTER_TASK_NAME"]]


@pytest.mark.parametrize("kind", ["train", "test"])
def test_file_shards_are_disjoint_and_cover_everything(muster_server: MusterServer, kind: str) -> None:
    run = run_example(muster_server, EXAMPLES / "file-sharding" / "job.yaml")

    assert run.state == "Succeeded"
    dealt = run.found(rf"trainer (\d) {kind} (\S+) sum (\d+)")
    assert {trainer for trainer, _, _ in dealt} == {"0", "1"}
    assert sorted((path, int(total)) for _, path, total in dealt) == sums_of(SHARDED_DATA / "data" / kind)


def sums_of(folder: Path) -> list[tuple[str, int]]:
    """Every data file, relative to the package, and the sum of its lines."""
    return [
        (str(path.relative_to(SHARDED_DATA)), sum(map(int, path.read_text().split())))
        for path in sorted(folder.iterdir())
    ]
