"""Scalars of several runs keep apart by the folders of their files."""

import pytest

from muster.engine.data.event_file_metrics import prefixes_of


@pytest.mark.parametrize(
    ("paths", "prefixes"),
    [
        (["a.tfevents"], [""]),
        (["runs/a.tfevents", "runs/b.tfevents"], ["", ""]),
        (["runs/train/a", "runs/val/b"], ["train/", "val/"]),
        (["a", "val/b"], ["", "val/"]),
        (["runs/x/train/a", "runs/y/b"], ["x/train/", "y/"]),
    ],
)
def test_the_folders_that_differ_stand_before_the_names(paths: list[str], prefixes: list[str]) -> None:
    assert list(prefixes_of(paths).values()) == prefixes
    assert list(prefixes_of(paths, "ps-0/").values()) == [f"ps-0/{prefix}" for prefix in prefixes]
