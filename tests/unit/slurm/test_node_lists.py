"""Slurm's expressions for many nodes become their names."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.backends.slurm.answers.node_lists import expand

pytestmark = pytest.mark.fast


@pytest.mark.parametrize(
    ("expression", "names"),
    [
        ("n1", "n1"),
        ("n1,n2", "n1 n2"),
        ("n[1-3]", "n1 n2 n3"),
        ("n[1-3,7]", "n1 n2 n3 n7"),
        ("n[1-2],gpu-[009-011]", "n1 n2 gpu-009 gpu-010 gpu-011"),
        ("r[1-2]n[1-2]", "r1n1 r1n2 r2n1 r2n2"),
        (
            "gpu-[01-02]x[1,3].example.org",
            "gpu-01x1.example.org gpu-01x3.example.org gpu-02x1.example.org gpu-02x3.example.org",
        ),
        ("n[098-101]", "n098 n099 n100 n101"),
        ("n[5]", "n5"),
        ("login", "login"),
        ("[1-2]", "1 2"),
        ("", ""),
        ("(null)", ""),
        ("None assigned", ""),
        ("N/A", ""),
        (" n1 ", "n1"),
    ],
)
def test_expression_stands_for_names(expression: str, names: str) -> None:
    assert expand(expression) == tuple(names.split())


@pytest.mark.parametrize(
    "expression", ["n[1-3", "n1]", "n[[1-2]]", "n[3-1]", "n[1-100000000]", "n[1-999]x[1-999]", ","]
)
def test_what_is_no_list_is_refused(expression: str) -> None:
    with pytest.raises(ValueError, match=r"no (list|range)"):
        expand(expression)


@given(st.integers(0, 500), st.integers(0, 200), st.integers(1, 5))
def test_range_has_all_of_its_names_once(first: int, more: int, width: int) -> None:
    start = str(first).zfill(width)
    names = expand(f"n[{start}-{first + more}]")

    assert [int(name[1:]) for name in names] == list(range(first, first + more + 1))
    assert all(len(name) > width or len(name) == width + 1 for name in names)
