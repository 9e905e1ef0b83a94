"""GPUs in Slurm's words for resources."""

import pytest

from muster.backends.slurm.answers.gres import gpus_by_type, tracked_gpus, tracked_memory_bytes

pytestmark = pytest.mark.fast


@pytest.mark.parametrize(
    ("gres", "gpus"),
    [
        ("gpu:a100:2", {"a100": 2}),
        ("gpu:2", {"": 2}),
        ("gpu:a100:8(S:0-1)", {"a100": 8}),
        ("gpu:a100:3(IDX:0-1,5)", {"a100": 3}),
        ("gpu:a100:0(IDX:N/A)", {}),
        ("gpu:a100:2,gpu:v100:1,tmp:2T", {"a100": 2, "v100": 1}),
        ("gpu:a100:1(S:0),gpu:a100:1(S:1)", {"a100": 2}),
        ("gpu:nvidia_a100_1g.5gb:7", {"nvidia_a100_1g.5gb": 7}),
        ("shard:a100:8,mps:400", {}),
        ("(null)", {}),
        ("N/A", {}),
        ("", {}),
    ],
)
def test_generic_resources(gres: str, gpus: dict[str, int]) -> None:
    assert gpus_by_type(gres) == gpus


@pytest.mark.parametrize(
    ("tres", "gpus"),
    [
        ("cpu=4,mem=4000M,billing=4,gres/gpu=4", {"": 4}),
        ("cpu=4,gres/gpu=4,gres/gpu:a100=4", {"a100": 4}),
        ("gres/gpu=4,gres/gpu:a100=3", {"a100": 3, "": 1}),
        ("gres/gpu:a100=3", {"a100": 3}),
        ("cpu=4", {}),
        ("", {}),
    ],
)
def test_trackable_resources(tres: str, gpus: dict[str, int]) -> None:
    assert tracked_gpus(tres) == gpus


@pytest.mark.parametrize(
    ("tres", "size"),
    [
        ("cpu=4,mem=4000M", 4000 << 20),
        ("mem=1.50T", 3 << 39),
        ("mem=62.50G", 64000 << 20),
        ("mem=7", 7 << 20),
        ("", None),
    ],
)
def test_trackable_memory(tres: str, size: int | None) -> None:
    assert tracked_memory_bytes(tres) == size
