"""A message that cannot be decoded is buried with the reason and blocks nobody."""

from __future__ import annotations

import pytest

from duerow import Database, Queue
from duerow.store import Entry
from duerow.testing.clock import MovableClock, hours
from duerow.testing.contents import everything, payloads

DEEP = 900
"""How deep JSON may be nested for all databases to keep it; half as deep for the decoders of some hosts."""

NESTED = "[" * DEEP + "]" * DEEP
OBJECTS = '{"n":' * DEEP + "1" + "}" * DEEP

UNREADABLE = {
    "bytes that are no base64": Entry("mail", "m-1", "bytes", '"***"', None, None, None),
    "bytes that are a number": Entry("mail", "m-1", "bytes", "7", None, None, None),
    "headers that are a list": Entry("mail", "m-1", "json", "1", "[1]", None, None),
    "nested deeper than can be read": Entry("mail", "m-1", "json", NESTED, None, None, None),
    "objects nested deeper than can be read": Entry("mail", "m-1", "json", OBJECTS, None, None, None),
    "headers nested deeper than can be read": Entry("mail", "m-1", "json", "1", f'{{"a":{NESTED}}}', None, None),
}


def push_unreadable(db: Database, entry: Entry) -> int:
    """Push as a producer with types that this consumer does not know."""
    [pushed] = db.run(lambda: db.store.messages.push([entry], "ignore"))
    return pushed.id


@pytest.mark.parametrize("entry", UNREADABLE.values(), ids=UNREADABLE)
def test_an_unreadable_message_is_buried_with_the_reason_and_the_next_handed_out(
    db: Database, queue: Queue, clock: MovableClock, entry: Entry
) -> None:
    odd = push_unreadable(db, entry)
    good = queue.push("good")
    reservation = queue.reserve()
    assert reservation is not None
    assert reservation.message.id == good.id
    [buried] = [record for record in everything(db) if record.id == odd]
    assert (buried.status, buried.due_at, buried.leased_by) == ("dead", None, None)
    assert (buried.payload, buried.kind) == (entry.payload, entry.kind)
    assert "CodecError" in (buried.last_error or "")
    clock.advance(hours(1000))
    assert [one.message.id for one in queue.reserve_many(5)] == [good.id]


def test_unreadable_messages_do_not_count_towards_how_many_were_asked_for(db: Database, queue: Queue) -> None:
    for number in range(3):
        push_unreadable(db, Entry("mail", str(number), "bytes", "1", None, None, None))
        queue.push(number)
    assert [one.message.payload for one in queue.reserve_many(3)] == [0, 1, 2]


@pytest.mark.parametrize("entry", UNREADABLE.values(), ids=UNREADABLE)
def test_a_pop_loses_no_message_that_it_cannot_read(db: Database, queue: Queue, entry: Entry) -> None:
    odd = push_unreadable(db, entry)
    queue.push("good")
    message = queue.pop()
    assert message is not None
    assert message.payload == "good"
    [kept] = everything(db)
    assert (kept.id, kept.status) == (odd, "dead")


@pytest.mark.parametrize("entry", UNREADABLE.values(), ids=UNREADABLE)
def test_an_unreadable_message_keeps_nobody_from_looking_at_the_others(
    db: Database, queue: Queue, entry: Entry
) -> None:
    odd = push_unreadable(db, entry)
    queue.push("good")
    assert "good" in payloads(queue)
    assert queue.count() == 2
    assert queue.peek(5)
    assert queue.contains("m-1")
    assert queue.count("payload.n = 7") == 0
    assert [message.id for message in queue.find(f"id = {odd}")] == [odd]
    assert queue.get(odd).payload == entry.payload  # type: ignore[union-attr]
    assert queue.remove(where=f"id = {odd}")
