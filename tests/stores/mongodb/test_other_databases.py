"""Sessions of clients that lead to other servers are refused; the same servers may be called otherwise."""

from __future__ import annotations

from collections.abc import Iterator

import pymongo
import pytest

import duerow
from duerow import Database, Queue
from duerow.stores.mongodb.execution import cluster_of, differ
from duerow.testing.conformance.fixtures import Place
from duerow.testing.faces import Face
from tests.servers import mongodb
from tests.stores.callers import Way
from tests.stores.mongodb.conftest import WAYS
from tests.stores.other_databases import in_ways, refuse_elsewhere


@pytest.fixture(scope="module")
def elsewhere() -> Iterator[Place]:
    """Another server, with a database of the same name."""
    with mongodb.started() as url:
        yield Place(url)


@in_ways(WAYS)
def test_a_transaction_of_another_server_is_refused(
    db: Database, queue: Queue, place: Place, elsewhere: Place, face: Face, way: Way
) -> None:
    refuse_elsewhere(db, queue, place, elsewhere, face, way)


def test_the_same_servers_may_be_called_otherwise(place: Place) -> None:
    with duerow.connect(place.url, migrate=True) as db:
        before = db.queue("mail").count()
        other_name = place.url.replace("127.0.0.1", "localhost")
        with pymongo.MongoClient(other_name) as client, client.start_session() as own, own.start_transaction():
            db.queue("mail").push("hello", within=own)
        assert db.queue("mail").count() == before + 1


def test_a_cluster_is_told_by_the_process_of_its_primary_else_by_its_members() -> None:
    member = {"setName": "rs0", "hosts": ["b:1", "a:1"], "me": "a:1"}
    assert not differ(cluster_of(member), cluster_of({**member, "hosts": ["a:1", "b:1"], "me": "b:1"}))
    assert differ(cluster_of(member), cluster_of({**member, "setName": "rs1"}))
    first, second = ({**member, "topologyVersion": {"processId": number}} for number in (1, 2))
    assert differ(cluster_of(first), cluster_of(second))
    assert not differ(cluster_of(member), cluster_of({"msg": "isdbgrid"}))  # a router does not tell
