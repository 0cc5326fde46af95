"""A scan reads very many messages, or finished turns, of many queues, ordered by id."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from duerow import Database, Draft
from duerow.store import HistoryRow, Query, Record, Scan
from duerow.where import parse


def scanned(db: Database, **asked: Any) -> list[Record | HistoryRow]:
    """Return what a scan finds."""
    return [*db.run(lambda: db.store.bulk.scan(Scan(**{"limit": 100, **asked})))]


def test_a_scan_reads_the_messages_of_many_queues_in_the_order_of_ids_and_goes_on_behind_any(db: Database) -> None:
    orders, mail = db.queue("orders"), db.queue("mail")
    for n in range(5):
        orders.push(n, priority=-n, headers={"n": n}, key=f"o{n}", group="g" if n < 2 else None)
        mail.push(n)
    dead = mail.reserve()
    assert dead is not None
    mail.bury(dead, "no use")
    found = [
        record
        for name in ("orders", "mail")
        for record in db.run(lambda name=name: db.store.messages.find(Query(name, by_id=True)))  # type: ignore[misc]
    ]
    records = sorted(found, key=lambda record: record.id)
    ids = [record.id for record in records]

    assert scanned(db) == records
    assert scanned(db, after=(ids[2], 0), last=ids[7]) == records[3:8]
    assert scanned(db, after=(ids[2], 0), limit=2) == records[3:5]
    assert scanned(db, descending=True, last=ids[7], limit=2) == records[7:5:-1]
    assert scanned(db, queues=("mail",), statuses=("dead",)) == [one for one in records if one.id == dead.message.id]
    assert scanned(db, queues=("mail", "orders"), where=parse("payload > 2 and headers.n < 4")) == [records[6]]
    assert scanned(db, queues=()) == scanned(db, queues=("none",)) == []


def test_a_scan_reads_turns_in_the_order_of_their_receipts(db: Database) -> None:
    orders = db.queue("orders", history=timedelta(days=1))
    mail = db.queue("mail", history=timedelta(days=1))
    orders.push_many([Draft(n) for n in range(3)])
    for reservation in orders.reserve_many(3):
        orders.rollback(reservation, delay=timedelta(0), error="no line")
    for reservation in reversed(orders.reserve_many(3)):
        orders.move(reservation, "mail")
    for reservation in mail.reserve_many(2):
        mail.commit(reservation)
    every = scanned(db, turns=True)
    receipts = [(past.id, past.token) for past in every]

    assert len(receipts) == 8
    assert receipts == sorted(receipts)
    assert [past.outcome for past in every if isinstance(past, HistoryRow)][:3] == ["failed", "moved", "done"]
    assert scanned(db, turns=True, after=receipts[1], last=receipts[4][0]) == every[2:6]
    assert scanned(db, turns=True, after=receipts[0], limit=3) == every[1:4]
    assert scanned(db, turns=True, descending=True, limit=2) == every[:-3:-1]
    assert scanned(db, turns=True, queues=("mail",)) == [past for past in every if past.queue == "mail"]
    assert scanned(db, turns=True, where=parse("outcome = 'failed' and error.message = 'no line'")) == [
        past for past in every if isinstance(past, HistoryRow) and past.outcome == "failed"
    ]
