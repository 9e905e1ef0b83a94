"""Specs as their authors would write them: templates, and nothing that goes without saying."""

from typing import Any

import pytest
import yaml

from muster.wire.specs import read_spec
from muster.wire.written_specs import spec_as_written

pytestmark = pytest.mark.fast


@pytest.mark.parametrize(
    "written",
    [
        {"name": "a", "command": "train"},
        {"name": "a", "params": {"lr": 0.1}, "command": "train --lr ${params.lr}"},
        {"name": "a", "params": {"lr": 0.1}, "env": {"LR": "${params.lr}", "B": "x"}, "command": ["train", "-v"]},
        {"name": "a", "command": "train", "replicas": 2, "resources": {"gpu": 1}, "priority": "high", "hold": True},
        {
            "name": "a",
            "params": {"lr": 0.1},
            "roles": {
                "ps": {"replicas": 1, "command": "serve"},
                "worker": {"replicas": 2, "command": ["train", "${params.lr}"], "env": {"X": "${params.lr}"}},
            },
        },
        {"name": "a", "roles": {"chief": {"replicas": 1, "command": "train", "resources": {"cpu": "2"}}}},
        {"name": "a", "roles": {"worker": {"replicas": 1, "command": "train", "minSucceeded": 1, "env": {"A": "b"}}}},
        {"name": "a", "runtime": {"image": "trainer:1"}},
        {"name": "a", "secrets": [{"name": "wandb", "env": "KEY"}], "command": "train", "preemptible": False},
    ],
)
def test_what_was_written_short_is_shown_short(written: dict[str, Any]) -> None:
    spec = read_spec(yaml.safe_dump(written))
    assert spec_as_written(spec) == written
    assert read_spec(yaml.safe_dump(spec_as_written(spec))) == spec
