"""For each test empty queues on each family of databases."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import duerow
from duerow.testing.conformance.fixtures import Place

_numbers = itertools.count()

ON = os.environ.get("DUEROW_TEST_SPARK_ON", "sqlite postgresql mariadb mongodb").split()
"""The databases on which each test runs; on MongoDB most of them are long tests."""


@pytest.fixture(params=ON)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """Empty queues on each store that Spark's processes can share."""
    settings: dict[str, Any] = {}
    url = f"sqlite:///{tmp_path}/queues.db"
    if request.param != "sqlite":
        url, settings = request.getfixturevalue(f"{request.param}_url"), {"prefix": f"spark{next(_numbers)}_"}
    duerow.connect(url, migrate=True, **settings).close()
    return Place(url, settings)


@pytest.fixture
def db(place: Place) -> Iterator[duerow.Database]:
    """The test's own way to those queues."""
    with duerow.connect(place.url, **place.settings) as database:
        yield database
