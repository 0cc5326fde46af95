"""Large pushes with keys are encoded while the database inserts their first messages."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import psycopg
import pytest

import duerow
from duerow import Database, Draft, Queue
from duerow.encryption import Encryption
from duerow.queue import mapping
from duerow.store import Entry
from duerow.stores.sql.dialects.postgresql.dialect import PostgreSQL
from duerow.testing.conformance.fixtures import Place

HOUR = timedelta(hours=1)


class Name(str):
    """Text of another type."""

    __slots__ = ()


@pytest.fixture
def database(place: Place, monkeypatch: pytest.MonkeyPatch) -> Iterator[Database]:
    """A database whose statements have at most two rows, so that small pushes are streams already."""
    monkeypatch.setattr(mapping, "ENCODED_AT_ONCE", 2)
    monkeypatch.setattr(mapping, "KEYED_AT_ONCE", 2)
    monkeypatch.setattr(PostgreSQL, "chunk", 2)
    with duerow.connect(place.url, migrate=True, schema=place.settings["schema"]) as database:
        yield database


def keyed(*keys: str) -> list[Draft]:
    return [Draft(place, key=key) for place, key in enumerate(keys)]


def test_messages_are_due_and_handed_out_in_the_order_given(database: Database) -> None:
    queue = database.queue("mail")
    pushed = queue.push_many(keyed("f", "e", "d", "c", "b", "a"))
    assert [one.message.payload for one in queue.reserve_many(6)] == [0, 1, 2, 3, 4, 5]
    first, *_, last = (message for message in (queue.get(one.id) for one in pushed) if message is not None)
    assert first.first_due_at < last.first_due_at, "a later statement has a later time"


@pytest.mark.parametrize(
    ("how", "streamed"),
    [
        ("as it comes", True),
        ("some without keys", True),
        ("few", False),
        ("replace", False),
        ("earliest", False),
        ("reject", False),
        ("keys remembered", False),
        ("encrypted", False),
        ("within", False),
        ("text of another type", False),
    ],
)
def test_only_pushes_that_ignore_taken_keys_are_streams(
    database: Database, place: Place, how: Any, streamed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    messages: Any = database.store.messages
    plan, calls = messages.push_keyed_chunks, list[Sequence[str | None]]()

    def noted(queue: str, keys: Sequence[str | None], encode: Any) -> Any:
        calls.append(keys)
        return plan(queue, keys, encode)

    monkeypatch.setattr(messages, "push_keyed_chunks", noted)
    drafts, queue, more = keyed("a", "b", "c"), database.queue("mail"), dict[str, Any]()
    match how:
        case "some without keys":
            drafts[1] = Draft(1)
        case "few":
            drafts = drafts[:2]
        case "replace" | "earliest" | "reject":
            more["on_duplicate"] = how
        case "keys remembered":
            queue = database.queue("mail", remember_keys=HOUR)
        case "text of another type":
            drafts[1] = Draft(1, key=Name("b"))
    if how == "within":
        with psycopg.connect(place.url) as own:
            pushed = queue.push_many(drafts, within=own)
    elif how == "encrypted":
        with duerow.connect(
            place.url, schema=place.settings["schema"], encryption=Encryption([Encryption.new_key()])
        ) as sealing:
            sealing.store = database.store
            pushed = sealing.queue("mail").push_many(drafts)
    else:
        pushed = queue.push_many(drafts, **more)
    assert [one.outcome for one in pushed] == ["created"] * len(drafts)
    assert calls == ([[draft.key for draft in drafts]] if streamed else [])


def test_of_two_pushes_that_wait_for_each_other_one_is_repeated(
    database: Database, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    both, begun = threading.Barrier(2, timeout=60), threading.local()
    encode = mapping.draft_entries

    def met(drafts: Sequence[Draft], *terms: Any) -> list[Entry]:
        begun.chunks = getattr(begun, "chunks", 0) + 1
        if begun.chunks == 2:  # each push has sent its first statement, which inserts what the other's second one does
            both.wait()
        return encode(drafts, *terms)

    monkeypatch.setattr(mapping, "draft_entries", met)

    def push(keys: str) -> list[Any]:
        with duerow.connect(place.url, schema=place.settings["schema"]) as own:
            return own.queue("mail").push_many(keyed(*keys))

    with ThreadPoolExecutor(2) as threads:
        one, other = threads.map(push, ["abcd", "cdab"])
    queue: Queue = database.queue("mail")
    ids = {message.key: message.id for message in queue.find()}
    assert [answer.id for answer in one] == [ids[key] for key in "abcd"]
    assert [answer.id for answer in other] == [ids[key] for key in "cdab"]
    assert sorted(answer.outcome for answer in (*one, *other)) == ["created"] * 4 + ["ignored"] * 4
