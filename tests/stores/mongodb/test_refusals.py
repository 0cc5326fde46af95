"""Who may not, whose server stands alone, steps down or breaks off: an error that says so, and nothing changed."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pymongo
import pytest

import duerow
from duerow import Commit, Database, Draft
from duerow.doctor import examine
from duerow.errors import ConfigurationError, NotSupported, SchemaOutdated, StoreRefused, StoreUnavailable
from duerow.testing.conformance.fixtures import Place
from duerow.testing.contents import everything, payloads
from duerow.testing.faces import AwaitedFace, Face, unwrapped
from tests.servers import mongodb
from tests.servers.fixtures import provide
from tests.stores.mongodb.fail_points import failing

Client = pymongo.MongoClient[dict[str, Any]]

UNAUTHORIZED, NOT_PRIMARY = 13, 10107


@pytest.mark.parametrize("refused", ["create", "createIndexes", "update"])
def test_who_may_not_migrate_is_told_what_to_hand_to_whom_and_nothing_is_taken_for_made(
    face: Face, bare_place: Place, client: Client, refused: str
) -> None:
    with (
        failing(client, refused, errorCode=UNAUTHORIZED),
        pytest.raises(ConfigurationError, match=r"(?s)lacks a privilege.*readWrite.*runCommand.*createIndexes"),
    ):
        face.connect(bare_place.url, migrate=True, **bare_place.settings)
    with pytest.raises(SchemaOutdated):
        face.connect(bare_place.url, **bare_place.settings)
    with face.connect(bare_place.url, migrate=True, **bare_place.settings) as db:  # somebody who may goes on
        assert db.queue("mail").push("hello").outcome == "created"


@pytest.mark.parametrize("refused", ["insert", "delete"])
def test_who_may_not_write_changes_nothing_of_a_transaction(
    face: Face, place: Place, client: Client, refused: str
) -> None:
    with face.connect(place.url, **place.settings) as db:
        queue = db.queue("mail", history=timedelta(days=1))
        queue.push_many([Draft(1, key="a"), Draft(2, key="b")])
        lent = queue.reserve_many(2)
        before = everything(db)
        turns = [(lent[0], Commit(then=[Draft("x", queue="mail")])), (lent[1], Commit())]
        with failing(client, refused, errorCode=UNAUTHORIZED), pytest.raises(StoreRefused, match="lacks a privilege"):
            queue.settle(turns)
        assert (everything(db), queue.history()) == (before, [])
        assert queue.settle(turns) == []
        assert payloads(queue) == ["x"]


def test_who_may_not_write_pushes_nothing(face: Face, place: Place, client: Client) -> None:
    with face.connect(place.url, **place.settings) as db:
        with failing(client, "insert", errorCode=UNAUTHORIZED), pytest.raises(StoreRefused, match="lacks a privilege"):
            db.queue("mail").push_many([Draft(1), Draft(2, key="k")])
        assert everything(db) == []


# A primary that steps down ends all transactions, which the fail point does not; so it steps down before or after.
ONCE = {
    "breaks off at the first step": ("find", {"closeConnection": True}),
    "breaks off in the middle": ("delete", {"closeConnection": True}),
    "breaks off at the last step": ("insert", {"closeConnection": True}),
    "breaks off at the commit": ("commitTransaction", {"closeConnection": True}),
    "steps down before": ("find", {"errorCode": NOT_PRIMARY}),
    "steps down at the commit": ("commitTransaction", {"errorCode": NOT_PRIMARY}),
}


@pytest.mark.parametrize(("command", "how"), ONCE.values(), ids=ONCE)
def test_turns_end_together_although_the_server_breaks_off_or_steps_down_once(
    face: Face, place: Place, client: Client, command: str, how: dict[str, Any]
) -> None:
    with face.connect(place.url, heartbeatFrequencyMS=500, **place.settings) as db:
        queue = db.queue("mail")
        queue.push_many([Draft(1), Draft(2)])
        one, other = queue.reserve_many(2)
        with failing(client, command, mode={"times": 1}, **how):
            assert queue.settle([(one, Commit(then=[Draft("x", queue="mail")])), (other, Commit())]) == []
        assert payloads(queue) == ["x"]


def test_turns_whose_transaction_cannot_be_ended_end_never_or_all(face: Face, place: Place, client: Client) -> None:
    with face.connect(place.url, **place.settings) as db:
        queue = db.queue("mail")
        queue.push_many([Draft(1), Draft(2)])
        lent = queue.reserve_many(2)
        with failing(client, "delete", closeConnection=True), pytest.raises(StoreUnavailable) as broken:
            queue.commit_many(lent)
        assert broken.value.outcome == "none"
        assert {one.token for one in everything(db)} == {1}
        with failing(client, "commitTransaction", closeConnection=True), pytest.raises(StoreUnavailable):
            queue.commit_many(lent)
        client.admin.command("killAllSessions", [])  # else the server would keep it for a minute
        assert len(everything(db)) in (0, 2)


def test_a_connection_that_breaks_in_the_callers_transaction_leaves_it_to_the_caller(
    place: Place, client: Client
) -> None:
    with (
        pymongo.MongoClient(place.url, appname="duerow") as own,
        duerow.connect(place.url, **place.settings) as db,
        own.start_session() as session,
    ):
        orders = own[place.settings["schema"]]["orders"]
        orders.delete_many({})
        session.start_transaction()
        orders.insert_one({"_id": 7}, session=session)
        db.queue("mail").push("before", within=session)
        with failing(client, "insert", closeConnection=True), pytest.raises(StoreUnavailable) as broken:
            db.queue("mail").push("after", within=session)
        assert broken.value.outcome == "none"
        session.abort_transaction()
        assert (everything(db), orders.count_documents({})) == ([], 0)


# A server that stands alone.


@pytest.fixture(scope="module")
def standalone_url(request: pytest.FixtureRequest) -> Iterator[str]:
    """A server that is no member of a replica set."""
    yield from provide("mongodb", mongodb.standalone, request.config)


def test_the_doctor_finds_a_server_that_stands_alone(standalone_url: str) -> None:
    with duerow.connect(standalone_url, migrate=True, prefix="doctor_") as db:
        assert {one.code for one in examine(db)} == {"standalone"}


def test_a_server_that_stands_alone_is_noticed_and_refuses_what_needs_more_before_anything_changes(
    face: Face, standalone_url: str
) -> None:
    with face.connect(standalone_url, migrate=True, prefix=f"alone_{face.name}_") as db:
        queue = db.queue("mail")
        queue.push("hello", key="k")
        mine = queue.reserve()
        assert not db.store.capabilities.transactions
        before = everything(db)
        for refused in (
            lambda: queue.push("x", group="g"),
            lambda: queue.commit(mine, then=[Draft("x", queue="mail")]),
            lambda: db.bulk.publish("batch", {"part": 1}),
            lambda: _receive(db),
            lambda: queue.push("x", within=_session(face, standalone_url)),
        ):
            with pytest.raises(NotSupported, match=r"replica set"):
                refused()
        assert everything(db) == before
        assert queue.commit(mine) is None
        assert payloads(queue) == []


def _receive(db: Database) -> object:
    return db.run(lambda: unwrapped(db).store.bulk.receive([]))


def _session(face: Face, url: str) -> Any:
    """A session of the face, which nobody begins a transaction in."""
    if isinstance(face, AwaitedFace):
        return pymongo.AsyncMongoClient(url, connect=False).start_session()
    return pymongo.MongoClient(url, connect=False).start_session()
