"""The in-memory store, with and without transactions over several messages."""

import uuid

import pytest

from duerow.testing.conformance.fixtures import Place


@pytest.fixture(params=["on", "off"], ids=["transactions", "no transactions"])
def place(request: pytest.FixtureRequest) -> Place:
    """A store of its own, shared by all handles of one test."""
    return Place(f"memory://{uuid.uuid4().hex}?transactions={request.param}")
