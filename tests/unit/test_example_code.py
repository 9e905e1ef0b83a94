"""What the examples compute, apart from the platform that runs them; and that their job files are valid."""

import importlib.util
import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.domain.specs import Mode
from muster.wire.specs import read_spec

EXAMPLES = Path(__file__).parents[2] / "examples"
MODES = {
    "collective-ring": Mode.COLLECTIVE,
    "file-sharding": Mode.COLLECTIVE,
    "first-job": Mode.COLLECTIVE,
    "hello": Mode.SINGLE,
    "jax-psum": Mode.COLLECTIVE,
    "tensorflow-workers": Mode.COLLECTIVE,
    "paddle-collective": Mode.COLLECTIVE,
    "paddle-ps": Mode.PS,
    "paddlejob": Mode.PS,
    "torch-ddp": Mode.COLLECTIVE,
    "wide-and-deep-ps": Mode.PS,
}

pytestmark = pytest.mark.fast


def example_module(example: str, module: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(module, EXAMPLES / example / "src" / f"{module}.py")
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


RING = example_module("collective-ring", "ring")
SHARD = example_module("file-sharding", "shard")


def test_every_example_is_known_here_and_has_a_readme() -> None:
    assert {path.parent.name for path in EXAMPLES.glob("*/job.yaml")} == set(MODES)
    assert {path.parent.name for path in EXAMPLES.glob("*/README.md")} == set(MODES)


@pytest.mark.parametrize("example", sorted(MODES))
def test_job_file_is_valid_and_small_enough_for_two_cores(example: str) -> None:
    spec = read_spec((EXAMPLES / example / "job.yaml").read_text())

    assert spec.name == example
    assert spec.mode is MODES[example]
    assert sum(role.replicas * role.resources.cpu_m for role in spec.roles) <= 2000
    assert not any("${params" in word for role in spec.roles for word in role.command)


@given(files=st.sets(st.text(min_size=1)), trainers=st.integers(1, 8))
def test_shards_are_disjoint_even_and_cover_all_files(files: set[str], trainers: int) -> None:
    shards = [SHARD.shard(list(files), trainer, trainers) for trainer in range(trainers)]

    assert sorted(path for shard in shards for path in shard) == sorted(files)
    assert max(map(len, shards)) - min(map(len, shards)) <= 1


@pytest.mark.parametrize("ranks", [1, 2, 3, 5])
@pytest.mark.parametrize("length", [1, 4, 50_000])
def test_ring_gives_every_rank_the_same_right_sum(ranks: int, length: int) -> None:
    endpoints = free_endpoints(ranks)

    def reduce_and_gather(rank: int) -> tuple[list[float], list[list[float]]]:
        ring = RING.Ring(endpoints, endpoints[rank])
        try:
            return ring.all_reduce([float(rank + i) for i in range(length)]), ring.all_gather([float(rank)])
        finally:
            ring.close()

    with ThreadPoolExecutor(ranks) as pool:
        results = list(pool.map(reduce_and_gather, range(ranks)))

    wanted = [float(sum(rank + i for rank in range(ranks))) for i in range(length)]
    assert [total for total, _ in results] == [wanted] * ranks
    assert all(sorted(gathered) == [[float(rank)] for rank in range(ranks)] for _, gathered in results)


def free_endpoints(count: int) -> list[str]:
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    endpoints = [f"127.0.0.1:{listener.getsockname()[1]}" for listener in held]
    for listener in held:
        listener.close()
    return endpoints
