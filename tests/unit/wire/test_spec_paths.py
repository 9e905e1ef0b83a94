"""Specs as tables of paths, and their differences."""

import pytest

from muster.wire.spec_paths import differences, flat

pytestmark = pytest.mark.fast


def test_paths_lead_through_mappings_and_lists_of_mappings() -> None:
    spec = {"name": "a", "labels": {"a.b/c": "x"}, "mounts": [{"target": "/d"}], "command": ["x", "y"], "env": {}}
    assert flat(spec) == {
        "name": "a",
        'labels["a.b/c"]': "x",
        "mounts[0].target": "/d",
        "command": ["x", "y"],
        "env": {},
    }


def test_differences_are_what_one_has_and_the_other_has_not_or_otherwise() -> None:
    mine = {"name": "a", "env": {"A": "1", "B": "2"}}
    other = {"name": "a", "env": {"A": "3", "C": "4"}, "grace": "5s"}
    assert differences(mine, other) == [
        ("env.A", "1", "3"),
        ("env.B", "2", None),
        ("env.C", None, "4"),
        ("grace", None, "5s"),
    ]
    assert differences(mine, mine) == []
