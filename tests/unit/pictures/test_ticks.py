"""Labels of axes: round values that stand where they say."""

import re
import xml.etree.ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.pictures.curves import draw_curves
from muster.pictures.scales import scale_of
from muster.pictures.ticks import durations_up_to, powers_between, ticks_between

pytestmark = pytest.mark.fast
SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize(
    ("low", "high", "labels"),
    [
        (0.0, 19.0, ["0", "5", "10", "15"]),
        (0.0, 1.0, ["0", "0.2", "0.4", "0.6", "0.8", "1"]),
        (-0.3, 0.1, ["-0.3", "-0.2", "-0.1", "0", "0.1"]),
        (6.0875, 8.033, ["6.5", "7", "7.5", "8"]),
        (1e-5, 3e-5, ["1e-05", "1.5e-05", "2e-05", "2.5e-05", "3e-05"]),
        (1000000.1, 1000000.5, ["1000000.1", "1000000.2", "1000000.3", "1000000.4", "1000000.5"]),
        (0.0, 3e6, ["0", "1e+06", "2e+06", "3e+06"]),
    ],
)
def test_values_are_round(low: float, high: float, labels: list[str]) -> None:
    assert [label for _, label in ticks_between(low, high)] == labels


@pytest.mark.parametrize(
    ("low", "high", "labels"),
    [
        (1.0, 6.0, ["1", "2", "3", "4", "5", "6"]),
        (1.0, 2.0, ["1", "2"]),
        (0.0, 10.0, ["0", "2", "4", "6", "8", "10"]),
        (0.0, 2e6, ["0", "500000", "1000000", "1500000", "2000000"]),
        (2.5, 3.5, ["3"]),
    ],
)
def test_what_is_counted_has_whole_labels(low: float, high: float, labels: list[str]) -> None:
    assert [label for _, label in ticks_between(low, high, is_whole=True)] == labels


@given(st.floats(allow_nan=False, allow_infinity=False), st.floats(allow_nan=False, allow_infinity=False))
def test_any_range_has_few_labels_within_it(one: float, other: float) -> None:
    low, high = sorted((one, other))
    if low < high:
        found = ticks_between(low, high)
        assert len(found) <= 7
        room = (high - low) * 1e-6
        assert all(low - room <= value <= high + room for value, _ in found)


def test_a_logarithmic_axis_has_powers_of_ten() -> None:
    assert [label for _, label in powers_between(0.0001, 1.0)] == ["0.0001", "0.001", "0.01", "0.1", "1"]
    assert [label for _, label in powers_between(2e-9, 3.0)] == ["1e-08", "1e-06", "0.0001", "0.01", "1"]


@pytest.mark.parametrize(
    ("longest_s", "labels"),
    [
        (30.0, ["0s", "10s", "20s", "30s"]),
        (0.4, ["0s"]),
        (7000.0, ["0s", "30m", "1h", "1h 30m"]),
        (10 * 86400.0, ["0s", "2d", "4d", "6d", "8d", "10d"]),
    ],
)
def test_durations_are_round(longest_s: float, labels: list[str]) -> None:
    assert [label for _, label in durations_up_to(longest_s)] == labels


def test_members_and_seeds_have_whole_labels() -> None:
    assert [label for _, label in scale_of("member", range(1, 11)).ticks] == ["2", "4", "6", "8", "10"]
    assert [label for _, label in scale_of("seed", [1, "2"]).ticks] == ["1", "2"]


def test_labels_of_a_curve_stand_at_the_values_that_they_name() -> None:
    drawn = ET.fromstring(draw_curves("loss", [("net", [(float(step), 8.033 - step / 10) for step in range(20)])]))
    below = [one for one in drawn.findall(f"{SVG}text") if one.get("class") == "middle" and one.text != "step"]
    (curve,) = drawn.findall(f"{SVG}polyline")
    xs = [float(point.split(",")[0]) for point in curve.attrib["points"].split()]
    assert [one.text for one in below] == ["0", "5", "10", "15"]
    assert [float(one.attrib["x"]) for one in below] == [xs[int(one.text or "")] for one in below]
    beside = [one.text or "" for one in drawn.findall(f"{SVG}text") if one.get("class") == "left"]
    assert all(re.fullmatch(r"[678](\.5)?", text) for text in beside)
