"""What all tests share."""

from pathlib import Path

import pytest
from hypothesis import settings

pytest_plugins = ["tests.servers.fixtures", "duerow.testing.conformance.fixtures"]

# No test depends on how fast the machine is.
settings.register_profile("duerow", deadline=None)
settings.load_profile("duerow")

HERE = Path(__file__).parent
ON_SPARK = ("spark", "demo", "docs")
"""Folders whose tests share one session of Spark."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Where several processes share the tests, each file is one process's, and all that runs on Spark is."""
    for item in items:
        folder = item.path.relative_to(HERE).parts[0] if item.path.is_relative_to(HERE) else ""
        item.add_marker(pytest.mark.xdist_group("spark" if folder in ON_SPARK else str(item.path)))
