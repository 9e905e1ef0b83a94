"""Parallel coordinates and the picture of a sweep: scales, gaps, and the whole as golden files."""

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from muster.pictures.parallel import Column, draw_parallel
from muster.pictures.scales import scale_of
from muster.pictures.sweep_picture import Member, SweepPicture
from tests.conftest import Golden

pytestmark = pytest.mark.fast
HERE = Path(__file__).parent / "golden"
SVG = "{http://www.w3.org/2000/svg}"
MEMBERS = [
    Member(1, {"lr": 0.001, "opt": "adam"}, 0.6, 60.0),
    Member(2, {"lr": 0.1, "opt": "sgd"}, 0.9, 30.0),
    Member(3, {"lr": 0.01, "opt": "adam"}, 0.8, None),
    Member(4, {"lr": 1.0, "opt": "adam"}, None, 5.0),
]


def test_numbers_have_places_between_the_lowest_and_the_highest() -> None:
    scale = scale_of("batch", [32, 64, None, 48])
    assert scale.places == [0.0, 1.0, None, 0.5]
    assert [label for _, label in scale.ticks] == ["40", "50", "60"]
    assert not scale.is_log


def test_numbers_of_several_magnitudes_have_a_logarithmic_scale() -> None:
    scale = scale_of("lr", [0.0001, 0.01, 1.0])
    assert scale.places == pytest.approx([0.0, 0.5, 1.0])
    assert scale.is_log


def test_numbers_that_are_written_as_texts_are_numbers() -> None:
    assert scale_of("lr", ["1", 2.0, "3"]).places == [0.0, 0.5, 1.0]


@pytest.mark.parametrize("values", [["sgd", "adam", "lamb"], [True, False], ["1", "many"], ["nan", "1"]])
def test_each_text_has_a_place_of_its_own(values: list[str | bool]) -> None:
    scale = scale_of("opt", values)
    assert sorted({place for place in scale.places if place is not None})[0] == 0.0
    assert len(set(scale.places)) == len(values) == len(scale.ticks)


@pytest.mark.parametrize("values", [[0.5, 0.5], ["adam"], [True]])
def test_the_only_value_stands_in_the_middle(values: list[float | str | bool]) -> None:
    assert set(scale_of("one", values).places) == {0.5}


def test_run_without_a_value_has_a_gap_there() -> None:
    columns: list[Column] = [("a", [1, 2]), ("b", [1, None]), ("c", [1, 2]), ("d", [1, 2])]
    drawn = ET.fromstring(draw_parallel("runs", columns)).findall(f"{SVG}polyline")
    assert sorted(len(line.attrib["points"].split()) for line in drawn) == [2, 4]


def test_value_between_gaps_is_a_point() -> None:
    columns: list[Column] = [("a", [1, None]), ("b", [None, 2]), ("c", [3, None])]
    root = ET.fromstring(draw_parallel("runs", columns))
    assert (len(root.findall(f"{SVG}polyline")), len(root.findall(f"{SVG}circle"))) == (0, 3)


def test_no_run_at_all_is_drawn_as_axes() -> None:
    assert len(ET.fromstring(draw_parallel("runs", [("a", []), ("b", [])])).findall(f"{SVG}polyline")) == 0


def test_names_that_xml_would_read_are_texts() -> None:
    ET.fromstring(draw_parallel("<&\x00>", [("<b>", ["<&", "\x01"]), ("c", [1, 2])]))


def test_parallel_coordinates_look_so(golden: Golden) -> None:
    columns: list[Column] = [("lr", [0.001, 0.1, 0.01]), ("opt", ["adam", "sgd", None]), ("acc", [0.6, 0.9, 0.8])]
    golden(HERE / "parallel.svg", draw_parallel("3 jobs", columns))


def test_sweep_looks_so(golden: Golden) -> None:
    golden(HERE / "sweep.svg", SweepPicture("search", "acc", True, ["lr", "opt"], MEMBERS).drawn())


def test_sweep_whose_members_run_says_why_there_is_no_curve() -> None:
    drawn = SweepPicture("search", "acc", False, ["lr"], [Member(1, {"lr": 1}, 0.5, None)]).drawn()
    assert "no member with a value has ended" in drawn
    ET.fromstring(drawn)


def test_best_member_stands_out() -> None:
    for is_max, best in ((True, 0.9), (False, 0.6)):
        picture = SweepPicture("search", "acc", is_max, ["lr"], MEMBERS)
        circles = ET.fromstring(picture.drawn()).findall(f"{SVG}circle")
        large = [one for one in circles if one.attrib["r"] == "5"]
        assert len(large) == 2, best
