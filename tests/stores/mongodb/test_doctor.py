"""What the doctor finds on MongoDB alone."""

from __future__ import annotations

from collections.abc import Iterator

import pymongo
import pytest

import duerow
from duerow.doctor import examine
from duerow.testing.conformance.fixtures import Place


@pytest.fixture
def database(place: Place) -> Iterator[duerow.Database]:
    with duerow.connect(place.url, **place.settings) as database:
        yield database


OF_THE_TESTS = {"standalone"}
"""A server that somebody named for the tests may be no replica set."""


def test_a_sound_database_without_trouble_has_no_other_findings(database: duerow.Database):
    assert {one.code for one in examine(database)} - OF_THE_TESTS == set()


def test_an_index_that_was_dropped_is_found(database: duerow.Database, place: Place):
    client = pymongo.MongoClient(place.url)
    messages = client[place.settings["schema"]]["duerow_message"]
    (made,) = [one for one in messages.list_indexes() if one["name"] == "of_due_time"]
    messages.drop_index("of_due_time")
    try:
        assert "index-missing" in {one.code for one in examine(database)}
    finally:
        messages.create_index(list(made["key"].items()), name="of_due_time")
        client.close()
