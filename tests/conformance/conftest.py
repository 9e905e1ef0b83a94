"""Tests that run job files and clients of other systems for real have a target of their own: make test-conformance."""

from pathlib import Path

import pytest

_HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(_HERE) and item.get_closest_marker("fast") is None:
            item.add_marker(pytest.mark.conformance)
