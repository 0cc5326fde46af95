"""Servers that are too old, stand alone, cannot be reached, refuse or break off: a clear error, nothing half done."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pymongo
import pytest
from pymongo.errors import OperationFailure

import duerow
from duerow import Draft
from duerow.errors import (
    ConfigurationError,
    Conflict,
    NotSupported,
    SchemaNewer,
    SchemaOutdated,
    StoreRefused,
    StoreUnavailable,
)
from duerow.plan import run
from duerow.stores.mongodb.errors import explained
from duerow.stores.mongodb.store import MongoStore
from duerow.testing.clock import MovableClock, hours, minutes
from duerow.testing.conformance.fixtures import Place
from duerow.testing.contents import everything, payloads
from duerow.testing.faces import AwaitedFace, Face, unwrapped
from duerow.testing.faults import at, watch
from tests.stores.mongodb.proxy import Proxy, proxied

Client = pymongo.MongoClient[dict[str, Any]]


def meet(hello: dict[str, Any]) -> MongoStore:
    """A store that has met a server that says this of itself."""
    store = MongoStore("duerow_")
    run(store.schema.check(), lambda step: hello if step.name == "hello" else [{"_id": 1}])
    return store


def test_a_server_that_is_too_old_is_refused_and_told_which_is_needed() -> None:
    with pytest.raises(ConfigurationError, match=r"MongoDB 6\.0 or later"):
        meet({"maxWireVersion": 13, "setName": "rs0"})


def test_transactions_are_used_where_the_server_has_them() -> None:
    for hello, has in (({"setName": "rs0"}, True), ({"msg": "isdbgrid"}, True), ({}, False)):
        can = meet({"maxWireVersion": 17, **hello}).capabilities
        assert (can.transactions, can.within) == (has, has)


WRONG = {
    "no database": "mongodb://localhost:27017",
    "no such option": "mongodb://localhost:27017/app?transactions=maybe",
    "no host": "mongodb:///app",
    "odd name": "mongodb://localhost/a%20b",
}


@pytest.mark.parametrize("url", WRONG.values(), ids=WRONG)
def test_a_url_that_cannot_be_is_refused(face: Face, url: str) -> None:
    with pytest.raises(ConfigurationError):
        face.connect(url)


def test_a_driver_option_that_cannot_be_is_refused(face: Face, mongodb_url: str) -> None:
    with pytest.raises(ConfigurationError, match="URL and these options"):
        face.connect(mongodb_url, maxPoolSize="many")
    with pytest.raises(ConfigurationError, match="prefix"):
        face.connect(mongodb_url, prefix="no good")


def test_a_payload_that_no_document_can_hold_is_refused_and_changes_nothing(place: Place) -> None:
    with duerow.connect(place.url, migrate=True, **place.settings) as db:
        queue = db.queue("mail", max_payload_bytes=32 << 20)
        with pytest.raises(StoreRefused, match="at most 16 MiB, and contains the payload twice"):
            queue.push("x" * (9 << 20))
        queue.push("small")
        assert payloads(queue) == ["small"]


def test_a_server_that_cannot_be_reached_is_said_to_be(face: Face) -> None:
    with proxied("127.0.0.1", 1) as proxy:
        port = proxy.port
    with pytest.raises(StoreUnavailable) as unreachable:
        face.connect(f"mongodb://127.0.0.1:{port}/app", serverSelectionTimeoutMS=200)
    assert unreachable.value.outcome == "none"


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (13, StoreRefused),
        (18, ConfigurationError),
        (20, NotSupported),
        (50, Conflict),
        (112, Conflict),
        (11000, Conflict),
        (10107, StoreUnavailable),
        (8000, StoreRefused),
    ],
)
def test_errors_are_told_by_their_codes(code: int, kind: type[Exception]) -> None:
    assert type(explained(OperationFailure("whatever it says", code), wrote=True)) is kind


def test_who_may_not_migrate_is_told_what_to_hand_to_whom() -> None:
    refusal = StoreRefused("this MongoDB user lacks a privilege")

    def refuse(step: Any) -> Any:
        if step.name == "create":
            raise refusal
        return {"maxWireVersion": 17, "setName": "rs0"} if step.name == "hello" else []

    with pytest.raises(ConfigurationError, match=r"(?s)privilege.*runCommand.*createIndexes") as told:
        run(MongoStore("duerow_").schema.migrate(), refuse)
    assert "expireAfterSeconds" in str(told.value)


# Collections.


def test_collections_are_made_once_and_checked(face: Face, bare_place: Place, client: Client) -> None:
    database = client[bare_place.settings["schema"]]
    with pytest.raises(SchemaOutdated, match=r"duerow migrate.*migrate=True"):
        face.connect(bare_place.url, **bare_place.settings)
    with face.connect(bare_place.url, migrate=True, **bare_place.settings) as db:
        assert db.migrate() == []
    database["duerow_schema"].insert_one({"_id": 9999, "name": "9999 of the future"})
    for migrate in (False, True):
        with pytest.raises(SchemaNewer, match=r"9999.*upgrade duerow"):
            face.connect(bare_place.url, migrate=migrate, **bare_place.settings)


def test_collections_that_a_newer_version_only_added_to_are_worked_with_beside_it(
    face: Face, bare_place: Place, client: Client
) -> None:
    face.connect(bare_place.url, migrate=True, **bare_place.settings).close()
    versions = client[bare_place.settings["schema"]]["duerow_schema"]
    known = versions.count_documents({})
    versions.insert_one({"_id": 9999, "name": f"9999 of the future [from {known}]"})
    with face.connect(bare_place.url, **bare_place.settings) as db:
        assert db.migrate() == []
    versions.update_one({"_id": 9999}, {"$set": {"name": f"9999 of the future [from {known + 1}]"}})
    with pytest.raises(SchemaNewer):
        face.connect(bare_place.url, **bare_place.settings)


def test_collections_that_somebody_dropped_are_missed_by_whoever_pushes(
    face: Face, bare_place: Place, client: Client
) -> None:
    with face.connect(bare_place.url, migrate=True, **bare_place.settings) as db:
        client.drop_database(bare_place.settings["schema"])
        for key in (None, "k"):
            with pytest.raises(SchemaOutdated, match=r"are gone, or were never made.*duerow migrate"):
                db.queue("mail").push(1, key=key)
    assert client[bare_place.settings["schema"]].list_collection_names() == []


def test_many_can_migrate_at_the_same_time(bare_place: Place) -> None:
    made: list[int] = []

    def push() -> None:
        with duerow.connect(bare_place.url, migrate=True, **bare_place.settings) as db:
            made.append(db.queue("mail").push("hello").id)

    threads = [threading.Thread(target=push) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(made) == [1, 2, 3, 4, 5]


def test_the_commands_for_a_dba_make_the_same_collections(bare_place: Place, client: Client) -> None:
    database = client[bare_place.settings["schema"]]
    for line in MongoStore("duerow_").schema.migration_sql().splitlines():
        database.command(json.loads(line.removeprefix("db.runCommand(").removesuffix(");")))
    with duerow.connect(bare_place.url, **bare_place.settings) as db:
        assert db.migrate() == []
        db.queue("mail").push_many([Draft(1, key="a"), Draft(2, key="a")])
        assert payloads(db.queue("mail")) == [1]


def test_the_server_takes_away_what_was_kept_long_enough(bare_place: Place, client: Client) -> None:
    database = client[bare_place.settings["schema"]]
    with duerow.connect(bare_place.url, migrate=True, **bare_place.settings) as db:
        queue = db.queue("mail", history=hours(1), remember_keys=hours(2))
        queue.push("hello", key="k")
        queue.pop()
    for name, kept_for in (("duerow_history", 1), ("duerow_key", 2)):
        [kept] = database[name].find()
        assert kept["expires"].timestamp() == pytest.approx(kept["until"] / 1e6, abs=0.002)
        [index] = [one for one in database[name].list_indexes() if one["name"] == "expires"]
        assert index["expireAfterSeconds"] == 0
        assert kept["until"] / 1e6 - kept.get("finished_at", kept["until"] - kept_for * 3.6e9) / 1e6 == pytest.approx(
            kept_for * 3600
        )


# Connections that break.


@pytest.fixture
def proxy(client: Client) -> Iterator[Proxy]:
    assert client.address is not None
    with proxied(*client.address) as proxy:
        yield proxy


@pytest.fixture
def through(mongodb_url: str) -> Callable[[Proxy], str]:
    """The URL of the server by way of a proxy."""
    user, at, _ = mongodb_url.removeprefix("mongodb://").rpartition("@")
    known = "authSource=admin&" if at else ""
    return lambda proxy: f"mongodb://{user}{at}127.0.0.1:{proxy.port}/app?{known}directConnection=true"


def test_to_close_a_handle_does_not_wait_for_a_server_that_has_gone(
    face: Face, place: Place, proxy: Proxy, through: Callable[[Proxy], str]
) -> None:
    patience = {"serverSelectionTimeoutMS": 3_600_000, "heartbeatFrequencyMS": 500}  # more than any test has
    with face.connect(through(proxy), **patience, **place.settings) as db:
        db.queue("mail").push(1)
        connections: Any = unwrapped(db).connections

        async def knows_a_server() -> bool:
            await asyncio.sleep(0.02)  # its client looks after the server in tasks of this loop
            return bool(connections.clients.client().nodes)

        proxy.close()
        if isinstance(face, AwaitedFace):
            while face.run(knows_a_server()):
                pass
        else:
            while connections.clients.client().nodes:
                time.sleep(0.02)


@pytest.mark.parametrize("point", ["settle: before", "settle: step 1", "settle: step 2", "settle: done"])
def test_turns_whose_answers_are_lost_in_mid_transaction_end_once_and_together(
    face: Face, place: Place, proxy: Proxy, through: Callable[[Proxy], str], point: str
) -> None:
    with (
        face.connect(place.url, **place.settings) as looking,
        face.connect(through(proxy), **place.settings) as db,
    ):
        looking.queue("mail").push_many([Draft(1), Draft(2)])
        watch(unwrapped(db), at(point, proxy.lose_an_answer))
        queue = db.queue("mail")
        lent = queue.reserve_many(2)
        queue.settle([(lent[0], duerow.Commit(then=[Draft("x", queue="mail")])), (lent[1], duerow.Commit())])
        assert proxy.lost == 1
        assert payloads(looking.queue("mail")) == ["x"]


def test_a_claim_whose_answer_is_lost_says_that_nobody_knows_and_lends_nothing_twice(
    face: Face, place: Place, proxy: Proxy, through: Callable[[Proxy], str], clock: MovableClock
) -> None:
    with face.connect(through(proxy), clock=clock, **place.settings) as db:
        queue = db.queue("mail")
        queue.push_many([Draft(1), Draft(2)])
        watch(unwrapped(db), at("reserve: step 3", proxy.lose_an_answer))
        with pytest.raises(StoreUnavailable) as lost:
            db.queue("mail").reserve_many(2)
        assert (lost.value.outcome, proxy.lost) == ("unknown", 1)
        assert queue.reserve_many(2) == []  # they are lent, until that lease ends
        clock.advance(minutes(1))
        assert [(one.message.payload, one.attempt) for one in queue.reserve_many(2)] == [(1, 2), (2, 2)]


def test_a_handle_that_was_opened_before_a_fork_works_after_it(place: Place) -> None:
    with duerow.connect(place.url, **place.settings) as db:
        db.queue("mail").push("before")
        child = multiprocessing.get_context("fork").Process(target=db.queue("mail").push, args=("child",))
        child.start()
        child.join(30)
        assert child.exitcode == 0
        db.queue("mail").push("after")
        assert sorted(payloads(db.queue("mail"))) == ["after", "before", "child"]


def test_a_session_without_a_transaction_or_of_the_other_face_is_refused(
    face: Face, place: Place, client: Client
) -> None:
    with face.connect(place.url, **place.settings) as db, client.start_session() as session:
        with pytest.raises(ConfigurationError, match="within"):
            db.queue("mail").push("x", within=session)
        assert everything(db) == []


def test_a_lost_race_in_the_callers_transaction_is_a_conflict(place: Place, client: Client) -> None:
    with duerow.connect(place.url, **place.settings) as db, client.start_session() as session:
        queue = db.queue("mail")
        queue.push("hello", key="k")
        session.start_transaction()
        queue.push("inside", within=session)  # from here on the transaction sees what was there now
        mine = queue.reserve()
        assert mine is not None
        with pytest.raises(Conflict):
            queue.push("other", key="k", on_duplicate="replace", within=session)
        session.abort_transaction()
        queue.commit(mine)
        assert payloads(queue) == []


def test_an_error_of_the_server_names_the_fields_and_repeats_no_value() -> None:
    said = 'E11000 duplicate key error collection: shop.duerow_message index: live_key dup key: { key: "secret" }'
    twice = {"code": 11000, "codeName": "DuplicateKey", "errmsg": said, "keyPattern": {"queue": 1, "live_key": 1}}
    command = 'not authorized on shop to execute command { insert: "message", documents: [ { p: "secret" } ] }'
    refused = {"code": 13, "codeName": "Unauthorized", "errmsg": command}
    unfit = {"code": 121, "codeName": "DocumentValidationFailure", "errmsg": "secret", "errInfo": {"x": "secret"}}
    told = [
        str(explained(OperationFailure(one["errmsg"], one["code"], one), wrote=True)) for one in (twice, refused, unfit)
    ]
    assert "DuplicateKey, of queue, live_key" in told[0]
    assert "Unauthorized, to insert in shop" in told[1]
    assert "DocumentValidationFailure" in told[2]
    assert all("secret" not in text for text in told)
