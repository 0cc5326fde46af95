"""MongoDB's protocol: one set of collections, emptied before each test.

The server of the tests is slow, so what takes it long is left to `make soak`. What the two faces do apart is tested on
both.
"""

import uuid
from collections.abc import Generator, Iterator, Set
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pymongo
import pytest
from bson import Int64

import duerow
from duerow.stores.mongodb.documents import CollectionNames
from duerow.testing.conformance.fixtures import Harm, Place
from duerow.testing.faces import AwaitedFace, Face
from tests.servers.process import given_url
from tests.stores.callers import Transaction, Way, begin, parametrize

__all__ = ["begin"]

HERE = Path(__file__).parent

LONG = {
    "test_large_batches_are_written_within_the_callers_transaction",
    "test_stats_count_no_further_than_ten_thousand_unless_asked_to",
    # One text is as another to this store, and who tries to read it as another.
    "test_any_encrypted_payload_comes_back_equal_and_of_the_same_types",
    "test_a_declared_value_comes_back_equal_and_with_its_types",
    "test_a_consumer_without_a_key_does_not_go_through_a_whole_queue",
}
"""Promises that take long on the server of the tests: they are checked by `make soak`."""

WORKERS = {"one-by-one-in-three", "batches-in-three"}

ENOUGH = {
    "test_many_batches_change_each_message_once": {"edit", "remove"},
    "test_every_message_is_handled_once_and_leaves_the_queue": WORKERS,
    "test_every_message_of_every_queue_is_handled_once": WORKERS,
    "test_every_message_is_in_one_batch_of_at_most_so_many": WORKERS,
    "test_each_message_has_the_effect_of_its_handler_once": WORKERS,
}
"""Of promises with several variants that this store keeps by the same steps, those tried in each run; `make soak` tries
all."""

NOT_YET: dict[str, str] = {}
"""Promises that this store does not keep yet, each with its reason."""

NOT_HERE = {
    "test_a_pattern_with_many_wildcards_is_answered_at_once": "SecantusDB takes regular expressions of up to 1,000 "
    "characters, MongoDB of 32,764; this pattern becomes one of 2,406",
}
"""Promises that the server of the tests cannot show."""


EACH_IN_ONE = 25
"""The version of the protocol, MongoDB 8.0's, from which on one command writes into several collections."""


@contextmanager
def client_session(place: Place, face: Face) -> Iterator[Transaction]:
    """A ClientSession of a client of the application's own."""
    with pymongo.MongoClient(place.url) as client, client.start_session() as session:
        session.start_transaction()
        yield Transaction(session, session.commit_transaction, session.abort_transaction)


@contextmanager
def async_client_session(place: Place, face: AwaitedFace) -> Iterator[Transaction]:
    """An AsyncClientSession of a client of the application's own."""
    client = pymongo.AsyncMongoClient(place.url)
    session = client.start_session()
    face.run(session.start_transaction())
    try:
        yield Transaction(
            session, lambda: face.run(session.commit_transaction()), lambda: face.run(session.abort_transaction())
        )
    finally:
        face.run(session.end_session())
        face.run(client.close())


WAYS = [Way("session", "sync", client_session), Way("session", "async", async_client_session)]


@pytest.hookimpl(tryfirst=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run the promises of `within=` with the sessions of both faces."""
    parametrize(metafunc, WAYS)


@pytest.hookimpl(wrapper=True)
def pytest_pycollect_makeitem() -> Generator[None, object, object]:
    """Mark strictly what does not hold, and what takes long."""
    made = yield
    broken = NOT_YET if given_url("mongodb") else NOT_YET | NOT_HERE
    for item in made if isinstance(made, list) else []:
        name = item.originalname if item.path == HERE / "test_conformance.py" else ""
        if reason := broken.get(name):
            item.add_marker(pytest.mark.xfail(reason=f"not yet: {reason}", strict=True))
        if name in LONG or (name in ENOUGH and not _is_enough(item)):
            item.add_marker(pytest.mark.soak)
    return made


def _is_enough(item: Any) -> bool:
    variant = item.callspec.id.removeprefix("sync-").removeprefix("async-")
    return variant in ENOUGH[item.originalname]


@pytest.fixture(scope="session")
def client(mongodb_url: str) -> Iterator[pymongo.MongoClient[dict[str, Any]]]:
    """A client that looks behind the scenes, and tidies up."""
    with pymongo.MongoClient(mongodb_url) as client:
        yield client


@pytest.fixture(scope="session")
def migrated(mongodb_url: str) -> Place:
    """Collections that all tests of a session use one after the other: to make them takes longer than most tests."""
    place = Place(mongodb_url, {"schema": f"tested_{uuid.uuid4().hex[:8]}"})
    duerow.connect(place.url, migrate=True, **place.settings).close()
    return place


GONE = object()
DEEP = "[" * 2_000 + "]" * 2_000

HARMS: dict[str, dict[str, Any]] = {
    "created after all years": {"created_at": Int64((1 << 63) - 1)},
    "created at a word": {"created_at": "noon"},
    "no time of creation": {"created_at": GONE},
    "first due before all years": {"first_due_at": Int64(-(1 << 63))},
    "a payload that is a document": {"payload": {"n": 1}},
    "a payload that is no JSON": {"payload": "{"},
    "a payload nested too deep": {"payload": DEEP},
    "no payload": {"payload": GONE},
    "headers nested too deep": {"headers": DEEP},
    "headers that are a list": {"headers": [1]},
    "a key that is a list": {"key": [1, 2]},
    "attempts that are text": {"attempts": "many"},
    "attempts below 0": {"attempts": -5},
    "a token that is text": {"token": "x"},
    "no token": {"token": GONE},
    "an unknown status": {"status": "wild"},
    "no status": {"status": GONE},
    "a priority that is no integer": {"priority": 1.5},
    "a lease that is text": {"leased_until": "noon", "leased_by": 5},
}

HARMS_OUT_OF_LINE: dict[str, dict[str, Any]] = {
    "a kind that is a number": {"kind": 5},
    "no kind": {"kind": GONE},
    "due at a word": {"due_at": "soon", "line_at": "soon"},
    "due before 1970": {"due_at": Int64(-1), "line_at": Int64(-1)},
    "due after all years": {"due_at": float("inf"), "line_at": float("inf")},
    "a priority that is a word": {"priority": "high"},
    "no priority": {"priority": GONE},
}


def ways(
    place: Place, client: pymongo.MongoClient[dict[str, Any]], settings: dict[str, dict[str, Any]]
) -> dict[str, Harm]:
    """Return ways to damage a message, each of which sets fields, or takes them away."""
    messages = client[place.settings["schema"]]["duerow_message"]

    def harm(fields: dict[str, Any], id: int) -> None:
        gone = {name: "" for name, value in fields.items() if value is GONE}
        new = {name: value for name, value in fields.items() if value is not GONE}
        messages.update_one({"_id": id}, {"$set": new} if new else {"$unset": gone})

    return {name: partial(harm, fields) for name, fields in settings.items()}


@pytest.fixture
def harms(place: Place, client: pymongo.MongoClient[dict[str, Any]]) -> dict[str, Harm]:
    """Ways to damage a message."""
    return ways(place, client, HARMS)


@pytest.fixture
def harms_out_of_line(place: Place, client: pymongo.MongoClient[dict[str, Any]]) -> dict[str, Harm]:
    """Ways to damage a message so that no claim comes upon it."""
    return ways(place, client, HARMS_OUT_OF_LINE)


@pytest.fixture
def largest_token(place: Place, client: pymongo.MongoClient[dict[str, Any]]) -> Harm:
    """A token that a claim cannot raise."""
    return ways(place, client, {"": {"token": 2**63 - 1}})[""]


@pytest.fixture
def place(migrated: Place, client: pymongo.MongoClient[dict[str, Any]]) -> Place:
    """The queues of this test."""
    tidy(migrated, client)
    return migrated


def tidy(place: Place, client: pymongo.MongoClient[dict[str, Any]]) -> None:
    """Empty all collections but those of the version and of the ids, and leave no index of a payload field."""
    names = CollectionNames("duerow_")
    database = client[place.settings["schema"]]
    emptied = sorted({*names.all} - {names.schema, names.counters})
    if client.admin.command("hello")["maxWireVersion"] >= EACH_IN_ONE:
        everything = [{"delete": number, "filter": {}, "multi": True} for number in range(len(emptied))]
        spaces = [{"ns": f"{database.name}.{name}"} for name in emptied]
        client.admin.command({"bulkWrite": 1, "ops": everything, "nsInfo": spaces})
    else:
        for name in emptied:
            database[name].delete_many({})
    for index in database[names.messages].list_indexes():
        if index["name"].startswith("by_"):
            database[names.messages].drop_index(index["name"])


@pytest.fixture
def bare_place(mongodb_url: str, client: pymongo.MongoClient[dict[str, Any]]) -> Iterator[Place]:
    """A place without any collections."""
    name = f"test_{uuid.uuid4().hex[:12]}"
    yield Place(mongodb_url, {"schema": name})
    client.drop_database(name)


@pytest.fixture
def crowd() -> int:
    """How many messages make a large batch: a command's limits are far beyond, and the server is slow."""
    return 150


@pytest.fixture
def in_loop() -> Set[str]:
    """PyMongo notes which lines of source made a client, when it first connects."""
    return {"open in open"}
