"""An encrypted payload is handed out only as the message that it was written for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from cryptography.fernet import Fernet

from duerow import Database, Draft, Queue
from duerow.encryption import Encryption, key_id
from duerow.store import Entry, Record
from duerow.testing.clock import MovableClock, hours, minutes
from duerow.testing.conformance.fixtures import OpenDatabase
from duerow.testing.contents import empty, everything

KEY = Encryption.new_key()
READABLE = {"cards": ["company", "owner.country"], "other": ["company"]}
CARD = {"number": "4111-1", "company": 1, "owner": {"country": "HR", "name": "Ana"}}


def with_keys(open_database: OpenDatabase, **options: Any) -> Database:
    """Return the database of this test, with a key."""
    return open_database(encryption=Encryption([KEY], readable=READABLE, **options))


def put(db: Database, record: Record, **changed: Any) -> None:
    """Put a message into its queue, as an attacker who can write to the database might."""
    record = msgspec.structs.replace(record, **changed)
    entry = Entry(record.queue, record.key, record.kind, record.payload, record.headers, None, None)
    db.run(lambda: db.store.messages.push([entry], "ignore"))


def refusal(queue: Queue) -> str:
    """Return why the only message of a queue was buried instead of handed out."""
    assert queue.reserve() is None
    [buried] = queue.find()
    assert buried.status == "dead"
    assert buried.last_error is not None
    assert "4111-" not in str(buried.last_error)
    return buried.last_error.message


FORGERIES: dict[str, Callable[[Record, Record], dict[str, Any]]] = {
    "of another message of the queue": lambda one, other: {"payload": other.payload},
    "of another message, with its kind": lambda one, other: {"payload": other.payload, "kind": other.kind},
    "in another queue": lambda one, other: {"queue": "other"},
    "under another key": lambda one, other: {"key": "k-9"},
    "under no key": lambda one, other: {"key": None},
    "as another kind": lambda one, other: {"kind": "bytes+encrypted"},
    "with another readable field": lambda one, other: {"payload": one.payload.replace('"company":1', '"company":2')},
    "without a readable field": lambda one, other: {"payload": one.payload.replace('"company":1,', "")},
    "with a readable field inside another": lambda one, other: {
        "payload": one.payload.replace('"country":"HR"', '"country":"HR","city":"Split"')
    },
    "with a member more": lambda one, other: {"payload": one.payload.replace("{", '{"added":1,', 1)},
    "with a member twice": lambda one, other: {"payload": one.payload.replace("{", '{"company":7,', 1)},
    "with what is encrypted twice": lambda one, other: {
        "payload": other.payload[:-1] + one.payload[one.payload.index(',"encrypted"') :]
    },
}


@pytest.mark.parametrize("forged", FORGERIES)
@pytest.mark.parametrize("key", ["k-1", None], ids=["keyed", "keyless"])
def test_a_payload_that_was_not_encrypted_for_this_message_is_buried_and_not_handed_out(
    open_database: OpenDatabase, forged: str, key: str | None
) -> None:
    db = with_keys(open_database)
    queue = db.queue("cards")
    queue.push(CARD, key=key)
    queue.push({"number": "4111-2", "company": 3}, key=None if key is None else "k-2")
    one, other = everything(db)
    empty(db)
    changed = FORGERIES[forged](one, other)
    put(db, one, **changed)
    assert "pa" in refusal(db.queue(changed.get("queue", "cards")))


@pytest.mark.parametrize("kind", ["json", "bytes"])
def test_an_encrypted_payload_that_is_called_clear_text_is_buried_and_not_handed_out(
    open_database: OpenDatabase, kind: str
) -> None:
    db = with_keys(open_database)
    db.queue("cards").push(CARD, key="k-1")
    [one] = everything(db)
    empty(db)
    put(db, one, kind=kind)
    assert f"its message has the kind '{kind}', which is for clear text" in refusal(db.queue("cards"))


@pytest.mark.parametrize("member", [{"key": "0" * 16, "text": "x", "v": 2}, {"key": 1}, "yes"])
def test_a_payload_in_clear_text_may_look_like_an_encrypted_one(open_database: OpenDatabase, member: Any) -> None:
    db = with_keys(open_database)
    open_database().queue("cards").push({"encrypted": member})
    message = db.queue("cards").pop()
    assert message is not None
    assert message.payload == {"encrypted": member}


def test_a_message_in_clear_text_is_refused_where_that_is_asked(open_database: OpenDatabase) -> None:
    plain, strict = open_database(), with_keys(open_database, refuse_clear_text=True)
    plain.queue("cards").push({"number": "forged"})
    assert "not encrypted" in refusal(strict.queue("cards"))
    plain.queue("cards").remove(where="status = 'dead'")
    strict.queue("cards").push(CARD)
    message = strict.queue("cards").pop()
    assert message is not None
    assert message.payload == CARD


def test_what_was_encrypted_before_payloads_were_bound_to_messages_can_be_read_and_sent_on(
    open_database: OpenDatabase,
) -> None:
    db = with_keys(open_database)
    token = Fernet(KEY).encrypt(b'json\n{"company":1,"number":"4111-1"}').decode()
    text = '{"company":1,"encrypted":{"key":"%s","text":"%s"}}' % (key_id(KEY), token)  # noqa: UP031
    entry = Entry("cards", None, "json+encrypted", text, None, None, None)
    db.run(lambda: db.store.messages.push([entry], "ignore"))
    reservation = db.queue("cards").reserve()
    assert reservation is not None
    assert reservation.message.payload == {"company": 1, "number": "4111-1"}
    reservation.move("other")
    [message] = db.queue("other").find()
    assert message.payload == {"company": 1, "number": "4111-1"}
    [record] = everything(db)
    assert '"v":2' in record.payload


def test_a_message_that_is_moved_with_its_payload_is_bound_to_where_it_is(open_database: OpenDatabase) -> None:
    db = with_keys(open_database)
    db.queue("cards").push(CARD, key="k-1")
    reservation = db.queue("cards").reserve()
    assert reservation is not None
    reservation.move("other", key="k-2")
    [moved] = everything(db)
    empty(db)
    put(db, moved, queue="cards", key="k-1")
    assert "another message" in refusal(db.queue("cards"))
    empty(db)
    put(db, moved)
    message = db.queue("other").pop()
    assert message is not None
    assert message.payload == CARD


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_dead_letters_of_dead_letters_stay_readable_there_and_on_the_way_back(
    open_database: OpenDatabase, clock: MovableClock, depth: int
) -> None:
    db, bare = with_keys(open_database), open_database()
    names = ["cards", "dead-1", "dead-2", "dead-3"][: depth + 1]
    queues = [db.queue(name, dead_letter=to) for name, to in zip(names, [*names[1:], None], strict=True)]
    queues[0].push(CARD, key="k-1")
    for queue in queues[:-1]:
        reservation = queue.reserve()
        assert reservation is not None
        assert reservation.message.payload == CARD
        reservation.bury("no use")
    assert [message.payload for message in queues[-1].find()] == [CARD]
    for name, to in zip(reversed(names[-2:]), reversed(names[-3:-1]), strict=False):  # headers hold two ways back
        assert bare.queue(name).redrive().count == 1
        clock.advance(minutes(1))
        assert [message.payload for message in db.queue(to).find()] == [CARD]
    if depth < 3:
        [back] = queues[0].find()
        assert (back.payload, back.key, {name for name in back.headers if "dead" in name}) == (CARD, "k-1", set())


def test_a_message_that_the_claim_gives_up_stays_readable_in_the_dead_letter_queue(
    open_database: OpenDatabase, clock: MovableClock
) -> None:
    queue = with_keys(open_database).queue("cards", dead_letter="cards-dead", retry=lambda *_: None)
    strict = queue.with_overrides(None, None)
    strict.push(CARD)
    for _ in range(20):
        assert strict.reserve(lease=minutes(1)) is not None
        clock.advance(minutes(2))
    assert strict.reserve() is None
    [letter] = queue.database.queue("cards-dead").find()
    assert letter.payload == CARD


def test_what_is_edited_patched_replaced_or_replayed_is_bound_to_its_message(open_database: OpenDatabase) -> None:
    queue = with_keys(open_database).queue("cards", history=hours(1))
    queue.push(CARD, key="k-1")
    queue.edit(key="k-1", patch={"number": "4111-2"})
    queue.edit(key="k-1", headers={"seen": True})
    assert [message.payload["number"] for message in queue.find()] == ["4111-2"]
    queue.edit(key="k-1", payload={"number": "4111-3"})
    assert [message.payload["number"] for message in queue.find()] == ["4111-3"]
    queue.push({"number": "4111-4"}, key="k-1", on_duplicate="replace")
    reservation = queue.reserve()
    assert reservation is not None
    assert reservation.message.payload["number"] == "4111-4"
    reservation.commit(payload={"number": "4111-5"})
    [turn] = queue.history()
    assert turn.payload == {"number": "4111-5"}
    assert queue.replay(id=turn.id).count == 1
    assert [message.payload for message in queue.find()] == [{"number": "4111-5"}]


def test_a_message_without_a_key_is_given_one_of_its_own_where_payloads_are_encrypted(
    open_database: OpenDatabase,
) -> None:
    queue = with_keys(open_database).queue("cards")
    queue.push_many([Draft(CARD), Draft(CARD)])
    keys = {message.key for message in queue.find()}
    assert len(keys) == 2
    assert all(key is not None and key.startswith("auto:") for key in keys)
