"""Tables line up whatever is in them, and nothing in them can steer the terminal."""

from typing import Any

import pytest
from click import unstyle
from hypothesis import given
from hypothesis import strategies as st

from muster.cli.tables.columns import resources_text
from muster.cli.tables.text_tables import Column, cut, display_width, fitting, render, render_within, shown

pytestmark = pytest.mark.fast

COLUMNS: list[Column[tuple[object, object]]] = [
    Column("NAME", lambda row: row[0]),
    Column("N", lambda row: row[1], right=True),
]


def test_columns_line_up_and_numbers_stand_right() -> None:
    assert render(COLUMNS, [("a", 1), ("long", 100)]) == ["NAME    N", "a       1", "long  100"]


def test_empty_values_are_dashes_and_zero_is_not_empty() -> None:
    assert render(COLUMNS, [(None, 0), ("", None)]) == ["NAME  N", "-     0", "-     -"]


def test_chinese_text_takes_two_columns_a_letter() -> None:
    lines = render(COLUMNS, [("训练", 1), ("ab", 2)])
    assert lines == ["NAME  N", "训练  1", "ab    2"]
    assert {display_width(line) for line in lines} == {7}


def test_combining_marks_take_none() -> None:
    assert display_width("e\u0301") == 1


def test_control_characters_do_not_reach_the_terminal() -> None:
    assert shown("a\x1b[31mb\nc\x07") == "a [31mb c "


def test_colour_does_not_change_the_width() -> None:
    coloured = [Column("S", lambda row: row, colour=lambda _: "red"), Column("T", lambda row: row)]
    line = render(coloured, ["x"])[1]
    assert "\x1b[31m" in line
    assert unstyle(line) == "x  x"


def test_last_column_is_cut_to_the_terminal() -> None:
    columns: list[Column[str]] = [Column("NAME", lambda _: "n"), Column("REASON", lambda row: row)]
    assert render(columns, ["a very long reason"], width=16)[1] == "n     a very lo…"


def test_a_narrow_terminal_does_without_the_least_columns() -> None:
    rows = [("a", 1000)]
    for width, titles in ((None, ["NAME", "N"]), (10, ["NAME", "N"]), (9, ["N"]), (1, ["N"])):
        assert [column.title for column in fitting(COLUMNS, rows, width, ["NAME"])] == titles


def test_title_of_the_last_column_survives_a_narrow_terminal() -> None:
    columns: list[Column[str]] = [Column("NAME", lambda _: "n"), Column("REASON", lambda row: row)]
    assert render(columns, ["reasonable"], width=3) == ["NAME  REASON", "n     reaso…"]


def test_a_table_within_a_width_cuts_the_last_text_first_then_the_widest() -> None:
    columns: list[Column[tuple[str, int, str]]] = [
        Column("NAME", lambda row: row[0]),
        Column("N", lambda row: row[1], right=True),
        Column("WHO", lambda row: row[2]),
    ]
    rows = [("a-long-name", 1234567, "somebody")]
    assert render_within(columns, rows, 40) == render(columns, rows)
    assert render_within(columns, rows, 27)[1] == "a-long-name  1234567  some…"
    assert render_within(columns, rows, 23)[1] == "a-long-n…  1234567  so…"
    assert render_within(columns, rows, 12)[1] == "a…  12…  so…"


@given(st.lists(st.tuples(st.text(max_size=30), st.integers(), st.text(max_size=30))), st.integers(9, 60))
def test_a_table_within_a_width_is_never_wider(rows: list[tuple[str, int, str]], width: int) -> None:
    columns: list[Column[tuple[str, int, str]]] = [
        Column("NAME", lambda row: row[0]),
        Column("N", lambda row: row[1], right=True),
        Column("REASON", lambda row: row[2]),
    ]
    assert all(display_width(line) <= width for line in render_within(columns, rows, width))


@given(st.text(max_size=30), st.integers(1, 20))
def test_cut_text_is_never_too_wide(text: str, width: int) -> None:
    assert display_width(cut(text, width)) <= width


@pytest.mark.parametrize(
    ("resources", "text"),
    [
        (
            {"cpu": "1", "memory": "2Gi", "gpu": 2, "gpuType": ["A100", "V100"]},
            "cpu=1 memory=2Gi gpu=2 gpuType=A100,V100",
        ),
        ({"cpu": "500m", "memory": "0", "gpu": 0, "gpuType": []}, "cpu=500m"),
        ({"cpu": "1", "gpuType": [], "devices": {"xilinx.com/fpga": 2}}, "cpu=1 xilinx.com/fpga=2"),
        ({}, None),
    ],
)
def test_resources_are_told_without_what_is_not_asked_for(resources: dict[str, Any], text: str | None) -> None:
    assert resources_text(resources) == text
