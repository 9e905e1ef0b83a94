"""The account of what a task uses: samples, gaps, counters, and what a stranger may have written into its file."""

import json
from typing import Any

import pytest

from muster.agent.tasks.used_resources import (
    Counted,
    Used,
    UsedGpu,
    from_json,
    of_devices,
    to_json,
    with_end,
    with_sample,
)

pytestmark = pytest.mark.fast


def a_card(index: int = 0, **known: Any) -> dict[str, Any]:
    return {"index": index, "load": None, "memory_used_bytes": None, "power_w": None, "energy_j": None, **known}


def processes(cpu_s: float, rss_bytes: int) -> dict[str, Any]:
    return {"cpu_s": cpu_s, "rss_bytes": rss_bytes, "processes": 1}


def test_samples_give_sums_and_peaks() -> None:
    used = with_sample(Used(), 100.0, processes(1.0, 50), [])
    used = with_sample(used, 102.0, processes(4.0, 80), [])
    used = with_sample(used, 104.0, processes(5.0, 20), [])
    assert (used.cpu_s, used.cpu_peak, used.memory_peak_bytes) == (5.0, 1.5, 80)


def test_cpu_time_does_not_shrink_when_a_process_ends() -> None:
    used = with_sample(with_sample(Used(), 100.0, processes(9.0, 1), []), 102.0, processes(2.0, 1), [])
    assert used.cpu_s == 9.0


def test_load_and_memory_of_its_own_cards_are_weighted_by_time() -> None:
    used = of_devices([1])
    for at, load, memory in ((100.0, 0.0, 0), (101.0, 100.0, 300), (104.0, 50.0, 100)):
        cards = [a_card(0, load=99.0), a_card(1, load=load, memory_used_bytes=memory)]
        used = with_sample(used, at, {}, cards)
    (gpu,) = used.gpus
    assert (gpu.sampled_s, gpu.load_s, gpu.load_peak, gpu.memory_peak_bytes) == (5.0, 250.0, 100.0, 300)
    assert gpu.memory_s == 600.0


def test_the_time_in_which_no_agent_looked_is_not_counted() -> None:
    used = with_sample(of_devices([0]), 100.0, processes(1.0, 1), [a_card(load=100.0, power_w=300.0)])
    used = with_sample(used, 1000.0, processes(901.0, 1), [a_card(load=10.0, power_w=300.0)])
    (gpu,) = used.gpus
    assert (gpu.sampled_s, gpu.load_s, gpu.energy_j, used.cpu_peak) == (2.0, 110.0, None, None)


def test_energy_is_the_difference_of_the_counter_also_over_a_gap() -> None:
    used = of_devices([0])
    for at, counter in ((100.0, 5000.0), (102.0, 5600.0), (900.0, 9000.0), (902.0, 10.0), (904.0, 40.0)):
        used = with_sample(used, at, {}, [a_card(energy_j=counter, power_w=1.0)])
    assert used.gpus[0].energy_j == 4030.0, "a counter that went back was reset, and goes on from there"


def test_without_a_counter_energy_is_power_times_time() -> None:
    used = of_devices([0])
    for at in (100.0, 102.0, 104.0):
        used = with_sample(used, at, {}, [a_card(power_w=250.0)])
    assert used.gpus[0].energy_j == 1000.0


def test_a_card_that_is_not_listed_leaves_its_account_as_it_was() -> None:
    used = with_sample(of_devices([3]), 100.0, {}, [a_card(0, load=50.0)])
    assert used.gpus == (UsedGpu(3),)


def test_the_end_takes_what_the_kernel_counted_if_it_is_more() -> None:
    sampled = Used(cpu_s=3.0, memory_peak_bytes=500)
    ended = with_end(sampled, Counted(4.5, 400))
    assert (ended.cpu_s, ended.memory_peak_bytes, ended.is_final) == (4.5, 500, True)
    assert with_end(Used(), Counted()) == Used(is_final=True)


def test_an_account_comes_back_from_its_file() -> None:
    used = with_sample(of_devices([0, 1]), 100.0, processes(1.5, 9), [a_card(0, load=5.0, energy_j=7.0)])
    assert from_json(json.loads(json.dumps(to_json(used)))) == used


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        '{"gpus": 3}',
        '{"gpus": [1]}',
        '{"gpus": [], "unknown": 1}',
        '{"gpus": [], "cpu_s": "much"}',
        '{"gpus": [], "cpu_s": NaN}',
        '{"gpus": [], "cpu_s": -1}',
        '{"gpus": [{"index": 0, "load_s": Infinity}]}',
        '{"gpus": [{"index": 0, "load_s": []}]}',
    ],
)
def test_a_file_that_no_agent_wrote_is_no_account(text: str) -> None:
    assert from_json(json.loads(text)) is None
