"""How the output in a page is brought up to date."""

import pytest

from tests.guides.rewriting import merged

pytestmark = pytest.mark.fast


def test_lines_that_differ_in_times_and_ids_only_stay() -> None:
    shown = ["submitted job mnist (1m7f88hhkeyjxngn)", "mnist", "a hint"]
    printed = ["submitted job mnist (1m7jty11gr5573yc)", "mnist", "another hint", ""]

    assert merged(shown, printed) == ["submitted job mnist (1m7f88hhkeyjxngn)", "mnist", "another hint"]


def test_what_the_page_leaves_out_stays_left_out() -> None:
    assert merged(["{", '  "a": 1,', "  …", "}"], ["{", '  "a": 2,', '  "a": 3,', '  "b": 4', "}"])[-1] == "}"
    assert merged(["{", "  …", "}"], ["{", '  "a": 2,', '  "b": 4', "}"]) == ["{", "  …", "}"]


def test_a_table_is_taken_as_a_whole() -> None:
    shown = ["NAME  AGE", "a     2s ago"]
    printed = ["NAME    AGE", "a       9s ago", "longer  1s ago"]

    assert merged(shown, printed) == printed
