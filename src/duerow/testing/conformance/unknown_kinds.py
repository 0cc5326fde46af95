"""A consumer leaves messages of unknown kinds to consumers that know them, and reports that."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any

import pytest
from msgspec.structs import asdict

from duerow import Database, Draft, Queue, fixed, limited
from duerow.store import Entry
from duerow.testing.clock import MovableClock, hours, minutes, seconds
from duerow.testing.contents import everything

JSON = ("json", "bytes")


@dataclass
class Invoice:
    """A type that an old consumer does not know."""

    n: int


def put(db: Database, number: int, group: str | None = None, queue: str = "mail") -> int:
    """Push an invoice, as a producer that knows more types than the consumer of plain JSON."""
    entry = Entry(queue, f"i-{number}", "Invoice", f'{{"n":{number}}}', None, None, None, group)
    [pushed] = db.run(lambda: db.store.messages.push([entry], "ignore"))
    return pushed.id


def as_it_is(db: Database, id: int) -> dict[str, Any]:
    """Return all stored fields of a message except its token and the time of its last attempt."""
    [record] = [one for one in everything(db) if one.id == id]
    return {name: value for name, value in asdict(record).items() if name not in ("token", "last_attempt_at")}


@pytest.mark.parametrize("take", ["reserve", "pop"])
def test_a_message_of_an_unknown_kind_is_left_as_it_was_and_the_next_is_taken(
    db: Database, queue: Queue, take: str
) -> None:
    odd = put(db, 1)
    before = as_it_is(db, odd)
    queue.push("good")
    message = queue.pop() if take == "pop" else getattr(queue.reserve(), "message", None)
    assert message is not None
    assert message.payload == "good"
    assert as_it_is(db, odd) == before
    assert (before["status"], before["attempts"], before["leased_by"]) == ("new", 0, None)


def test_a_kind_that_is_known_to_be_unknown_is_not_even_touched(db: Database, queue: Queue) -> None:
    put(db, 1)
    assert queue.reserve() is None
    before = everything(db)
    queue.push("good")
    put(db, 2)
    assert [one.message.payload for one in queue.reserve_many(5)] == ["good"]
    assert queue.pop_many(5) == []
    assert [one.token for one in everything(db) if one.kind == "Invoice"] == [before[0].token, 0]


def test_unknown_kinds_do_not_count_towards_how_many_were_asked_for(db: Database, queue: Queue) -> None:
    for number in range(3):
        put(db, number)
        queue.push(number)
    assert [one.message.payload for one in queue.reserve_many(3)] == [0, 1, 2]
    assert {one.status for one in everything(db)} == {"new"}


def test_a_consumer_that_knows_the_kind_takes_what_another_one_has_left(db: Database, queue: Queue) -> None:
    queue.push_many([Draft({"n": 1})])
    odd = put(db, 2)
    assert [one.message.payload for one in queue.reserve_many(5)] == [{"n": 1}]
    assert queue.reserve() is None
    reservation = db.queue("mail", payload=Invoice).reserve()
    assert reservation is not None
    assert (reservation.message.id, reservation.message.payload) == (odd, Invoice(2))
    assert reservation.message.attempts == 1


def test_two_handles_of_one_database_that_know_different_kinds_take_each_its_own(db: Database, queue: Queue) -> None:
    typed = db.queue("mail", payload=Invoice)
    for number in range(4):
        put(db, number)
        queue.push([number])  # not an invoice, so only the plain handle can read it
    plain = [one.message.payload for one in queue.reserve_many(2)]
    invoices = [one.message.payload for one in typed.reserve_many(1)]
    plain += [one.message.payload for one in queue.reserve_many(9)]
    invoices += [one.message.payload for one in typed.reserve_many(9)]
    assert plain == [[0], [1], [2], [3]]
    assert invoices == [Invoice(number) for number in range(4)]


def test_an_unknown_kind_keeps_its_group_back_and_no_other(db: Database, queue: Queue) -> None:
    put(db, 1, "a")
    for payload, group in (("behind", "a"), ("free", "b"), ("alone", None)):
        queue.push(payload, group=group)
    for _ in range(2):
        taken = queue.reserve_many(5)
        assert sorted(one.message.payload for one in taken) == ["alone", "free"]
        queue.release_many(taken)
    invoice = db.queue("mail", payload=Invoice).reserve()
    assert invoice is not None
    db.queue("mail", payload=Invoice).commit(invoice)
    assert sorted(one.message.payload for one in queue.reserve_many(5)) == ["alone", "behind", "free"]


def test_a_message_behind_an_unknown_kind_says_why_it_waits(db: Database, queue: Queue) -> None:
    odd = put(db, 1, "a")
    behind = queue.push("behind", group="a")
    assert queue.reserve() is None
    db.run(lambda: db.store.metadata.note_consumer("here:1:w", ["mail"], JSON, "1.0"))
    assert [reason.code for reason in queue.why(odd)] == ["unknown-kind"]
    [reason] = queue.why(behind.id)
    assert (reason.code, reason.by) == ("group-blocked", odd)
    assert "no consumer that was seen knows its kind 'Invoice'" in reason.text


def test_the_lease_of_an_unknown_kind_ends_and_its_used_up_attempts_bury_it_at_who_knows_it(
    db: Database, queue: Queue, clock: MovableClock
) -> None:
    strict = db.queue("mail", payload=Invoice, retry=limited(20, fixed(seconds(1))))
    put(db, 1)
    put(db, 2)
    assert queue.reserve() is None
    for _ in range(20):
        assert strict.reserve(lease=minutes(1)) is not None
        assert strict.reserve(lease=minutes(1)) is not None
        clock.advance(minutes(1))
    queue.push("good")
    assert [one.message.payload for one in queue.reserve_many(5, lease=hours(1))] == ["good"]
    assert {one.status for one in everything(db)} == {"new"}
    assert strict.reserve() is None
    assert [one.status for one in everything(db) if one.kind == "Invoice"] == ["dead", "dead"]


def test_what_is_due_next_is_told_of_known_kinds_alone(db: Database, queue: Queue) -> None:
    put(db, 1)
    put(db, 2, "g")

    def due_in(kinds: Any) -> Any:
        return db.run(lambda: db.store.messages.next_due(["mail"], seconds(0), kinds))

    assert due_in(None) == seconds(0)
    assert due_in({"other": JSON}) == seconds(0)
    assert due_in({"mail": JSON}) is None
    queue.push("later", delay=minutes(1))
    assert due_in({"mail": JSON}) == minutes(1)
    assert due_in({"mail": ("Invoice", "Order", "Receipt")}) == seconds(0)


def test_a_claim_that_leaves_an_unknown_kind_says_so_once(
    db: Database, queue: Queue, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.ERROR, "duerow.queue")
    put(db, 1)
    put(db, 2)
    for _ in range(3):
        assert queue.reserve() is None
    [line] = caplog.records
    assert "2 messages of mail" in line.getMessage()
    assert "'Invoice'" in line.getMessage()
    assert queue.unknown == {"mail": {"Invoice": 2}}


def test_once_what_is_unknown_has_left_claims_ask_for_all_kinds_again(db: Database, queue: Queue) -> None:
    put(db, 1)
    assert queue.reserve() is None
    assert queue.only.keys() == {"mail"}
    assert db.queue("mail", payload=Invoice).pop() is not None
    queue.look_for_unknown()
    assert (queue.only, queue.unknown) == ({}, {})


def test_each_message_that_a_claim_buries_is_told_by_name(
    db: Database, clock: MovableClock, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.ERROR, "duerow.queue")
    queue = db.queue("mail", retry=limited(1, fixed(seconds(1))))
    ids = [queue.push(number, group=group).id for number, group in ((1, None), (2, "g"))]
    assert len(queue.reserve_many(2, lease=minutes(1))) == 2
    clock.advance(minutes(1))
    assert queue.reserve() is None
    told = {record.__dict__["message_id"]: record for record in caplog.records}
    assert sorted(told) == ids
    for record in told.values():
        assert record.__dict__["queue"] == "mail"
        assert "attempt 1 of 1" in record.getMessage()


def test_a_message_that_is_buried_since_it_cannot_be_read_is_told_by_name(
    db: Database, queue: Queue, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.ERROR, "duerow.queue")
    [odd] = db.run(lambda: db.store.messages.push([Entry("mail", None, "bytes", '"***"', None, None, None)], "ignore"))
    assert queue.reserve() is None
    [line] = caplog.records
    assert line.__dict__["message_id"] == odd.id
    assert "cannot be read back as bytes" in line.getMessage()
