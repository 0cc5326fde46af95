"""Processes share a database as promised."""

import duerow
from duerow.testing.conformance.fixtures import Place
from duerow.testing.faces import Face
from tests.stores.processes import *  # noqa: F403 - the tests of all stores that processes can share
from tests.stores.processes import fork


def test_a_child_is_refused_a_file_that_could_not_be_closed_before_the_fork(place: Place, face: Face) -> None:
    fork("open elsewhere", place, face)
    with duerow.connect(place.url, **place.settings) as database:
        assert [message.payload for message in database.queue("mail").find()] == ["accepted"]
