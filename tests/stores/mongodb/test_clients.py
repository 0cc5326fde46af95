"""Queues opened by a client, or a database, of the user's own: used as it is, and never closed."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pymongo
import pytest
from pymongo.asynchronous.client_session import AsyncClientSession

from duerow import Draft, Message, Worker, aio
from duerow.errors import ConfigurationError
from duerow.testing.conformance.fixtures import Place
from duerow.testing.contents import payloads
from duerow.testing.faces import AwaitedFace, BlockingFace, Face


@pytest.fixture
def theirs(face: Face, place: Place) -> Iterator[Any]:
    """A client that goes with the face, set otherwise than duerow needs it wherever a client can be."""
    given: dict[str, Any] = {"w": 1, "readPreference": "secondaryPreferred", "tz_aware": False, "retryWrites": False}
    if isinstance(face, AwaitedFace):
        client = pymongo.AsyncMongoClient(place.url, **given)
        yield client
        face.run(client.close())
    else:
        with pymongo.MongoClient(place.url, **given) as blocking:
            yield blocking


def count(face: Face, client: Any, place: Place) -> int:
    """How many messages there are, as the client sees it."""
    counted = client[place.settings["schema"]]["duerow_message"].count_documents({})
    return face.run(counted) if isinstance(face, AwaitedFace) else counted


@pytest.mark.parametrize("whole", [True, False], ids=["client", "database"])
def test_queues_are_opened_by_a_client_or_database_that_is_left_open(
    face: Face, place: Place, theirs: Any, whole: bool
) -> None:
    name = place.settings["schema"]
    opened = face.connect(theirs, schema=name) if whole else face.connect(theirs[name])
    with opened as db:
        queue = db.queue("mail")
        queue.push_many([Draft(n, key=f"k{n}") for n in range(3)])
        [lent] = queue.reserve_many(1)
        queue.commit(lent)
        with face.connect(theirs, schema=name) as another:
            assert payloads(another.queue("mail")) == [1, 2]
            another.queue("mail").commit(queue.reserve())  # both lead to the same collections
        assert payloads(queue) == [2]
    assert count(face, theirs, place) == 1


def test_a_worker_of_a_client_hears_of_pushes(place: Place) -> None:
    name, handled = place.settings["schema"], []
    with pymongo.MongoClient(place.url) as client, BlockingFace().connect(client[name]) as db:
        queue = db.queue("mail")
        queue.push_many([Draft(n) for n in range(3)])
        Worker(queue, lambda message: handled.append(message.payload)).run(until="empty")
    assert sorted(handled) == [0, 1, 2]


def test_an_awaited_worker_of_a_client_works_beside_its_loop_and_its_handlers_write_with_the_client(
    place: Place,
) -> None:
    name = place.settings["schema"]

    async def written() -> list[Any]:
        async with pymongo.AsyncMongoClient(place.url) as client, await aio.connect(client[name]) as db:
            done, queue = client[name]["done"], db.queue("mail")

            async def handle(message: Message, session: AsyncClientSession) -> None:
                await done.insert_one({"n": message.payload}, session=session)

            await queue.push_many([Draft(n) for n in range(3)])
            await aio.Worker(queue, handle, transactional=True).run(until="empty")
            assert await queue.count() == 0  # the client is still open
            return await done.distinct("n")

    assert asyncio.run(written()) == [0, 1, 2]


def test_a_client_that_cannot_be_used_is_refused_with_the_reason(face: Face, place: Place) -> None:
    blocking, awaited = pymongo.MongoClient, pymongo.AsyncMongoClient
    right, wrong = (awaited, blocking) if isinstance(face, AwaitedFace) else (blocking, awaited)
    unnamed = place.url.rpartition("/")[0]
    refused: list[tuple[Any, dict[str, Any], str]] = [
        (wrong(place.url, connect=False), {}, f"with a URL or with {right.__name__} or"),
        (right(f"{unnamed}/app?w=0", connect=False), {}, "w=0"),
        (right(unnamed, connect=False)["app"].with_options(write_concern=pymongo.WriteConcern(0)), {}, "w=0"),
        (right(unnamed, connect=False), {}, "no database is named"),
        (right(unnamed, connect=False), {"schema": "a b"}, "cannot be the name of a database"),
        (right(place.url, connect=False), {"maxPoolSize": 3}, "maxPoolSize: a client of your own already has its"),
        (
            right(place.url, connect=False),
            {"transactions": "maybe"},
            "transactions= must be 'on' or 'off', not 'maybe'",
        ),
        (right(place.url, connect=False)["app"]["mail"], {}, "or a client of a store's own driver"),
    ]
    for target, settings, why in refused:
        with pytest.raises(ConfigurationError, match=why):
            face.connect(target, **settings)
