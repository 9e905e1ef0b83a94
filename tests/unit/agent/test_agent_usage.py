"""What one sample says: percentages and rates between two moments."""

from pathlib import Path

import pytest

from muster.agent.node.network import Traffic, describe, parse_traffic, read_link
from muster.agent.node.usage import CpuTimes, mount_point, parse_cpu_times, parse_memory, percent

pytestmark = pytest.mark.fast

_DEV = b"""Inter-|   Receive                         |  Transmit
 face |bytes    packets errs drop fifo frame |bytes    packets errs
    lo: 10 1 0 0 0 0 0 0 10 1 0 0 0 0 0 0
  eth0: 5000 9 0 0 0 0 0 0 700 3 0 0 0 0 0 0
"""


def test_cpu_times_are_of_the_machine_and_then_of_each_core() -> None:
    stat = b"cpu  10 0 10 70 10 0 0 0 0 0\ncpu0 1 0 1 8 0 0 0 0 0 0\nintr 1 2 3\ncpu9 not a core\n"
    assert parse_cpu_times(stat) == [CpuTimes(20, 100), CpuTimes(2, 10)]
    assert percent(CpuTimes(20, 100), CpuTimes(70, 200)) == 50.0
    assert percent(CpuTimes(20, 100), CpuTimes(20, 100)) == 0.0


def test_memory_is_told_in_bytes_and_old_kernels_tell_less() -> None:
    assert parse_memory(b"MemTotal: 8 kB\nMemFree: 4 kB\nMemAvailable: 6 kB\nBuffers: 1 kB\n") == {
        "MemTotal": 8192,
        "MemFree": 4096,
        "MemAvailable": 6144,
    }
    assert "MemAvailable" not in parse_memory(b"MemTotal: 8 kB\nMemFree: 4 kB\nBuffers: 1 kB\nCached: 1 kB\n")


def test_traffic_is_of_links_that_lead_somewhere() -> None:
    assert parse_traffic(_DEV) == {"eth0": Traffic(5000, 700)}


@pytest.mark.parametrize(
    ("before", "passed_s", "rates"),
    [
        (Traffic(1000, 700), 2.0, (2000.0, 0.0)),
        (Traffic(9000, 9000), 2.0, (0.0, 0.0)),  # made anew since
        (Traffic(1000, 700), 0.0, (0.0, 0.0)),
    ],
)
def test_rates_are_since_the_last_look(before: Traffic, passed_s: float, rates: tuple[float, float]) -> None:
    told = describe("eth0", Traffic(5000, 700), before, passed_s, 1000)
    assert (told["rx_bytes_s"], told["tx_bytes_s"], told["speed_mbit"]) == (*rates, 1000)


@pytest.mark.parametrize(
    ("state", "speed", "up", "known"),
    [("up", "1000", True, 1000), ("down", "-1", False, None), ("unknown", "-1", True, None), ("", "", True, None)],
)
def test_a_link_is_up_unless_it_says_otherwise(
    tmp_path: Path, state: str, speed: str, up: bool, known: int | None
) -> None:
    if state:
        (tmp_path / "operstate").write_text(f"{state}\n")
        (tmp_path / "speed").write_text(f"{speed}\n")
    assert read_link(str(tmp_path)) == (up, known, False)


@pytest.mark.parametrize(
    ("name", "has", "of_guests"),
    [
        ("eth0", ["device"], False),
        ("eth0", ["device", "brport"], False),  # the machine's own, with a bridge for guests on top
        ("eth0", [], False),  # of a machine that is a container itself
        ("bond0", [], False),
        ("docker0", ["bridge"], True),
        ("enx7", ["brport"], True),
        ("veth1f3b77a", [], True),
    ],
)
def test_links_of_containers_are_told_from_those_of_the_machine(
    tmp_path: Path, name: str, has: list[str], of_guests: bool
) -> None:
    for part in has:
        (tmp_path / name / part).mkdir(parents=True)
    assert read_link(str(tmp_path / name)).of_guests == of_guests


def test_the_disk_of_a_folder_is_where_it_is_mounted(tmp_path: Path) -> None:
    found = mount_point(str(tmp_path))
    assert str(tmp_path).startswith(found)
    assert mount_point("/") == "/"
