"""What the database refuses of one message stops no other. Taken in by each SQL store."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from sqlalchemy import text

import duerow
from duerow import Database, Draft, Queue, fixed, limited
from duerow.errors import StoreRefused
from duerow.testing.clock import MovableClock, hours, minutes, seconds
from duerow.testing.conformance.fixtures import Place
from tests.stores.schema import engine_of

HANDED_OUT = "NEW.leased_by IS NOT NULL"
ANY = "1 = 1"

Refuse = Callable[[str, str, str], None]
"""Has the database refuse writes (INSERT or UPDATE) of the payload "bad" into a table, if something holds of NEW."""

TRIGGERS = {
    "sqlite": ["CREATE TRIGGER {name} BEFORE {event} ON {table} WHEN {condition} "
               "BEGIN SELECT RAISE(ABORT, 'not this row'); END"],
    "postgresql": [
        "CREATE FUNCTION {function}() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION 'not this row'; END $$",
        "CREATE TRIGGER {name} BEFORE {event} ON {table} FOR EACH ROW WHEN ({condition}) "
        "EXECUTE FUNCTION {function}()",
    ],
    "mysql": [
        "CREATE TRIGGER {schema}{name} BEFORE {event} ON {table} FOR EACH ROW "
        "IF {condition} THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'not this row'; "
        "END IF"
    ],
}  # fmt: skip


BAD = {"postgresql": "NEW.payload::text = '\"bad\"'"}
"""What holds of a row with the payload "bad", where it is not `BAD_TEXT`."""

BAD_TEXT = "NEW.payload = '\"bad\"'"

DROPS = {
    "sqlite": ["DROP TRIGGER {name}"],
    "postgresql": ["DROP FUNCTION {function} CASCADE"],
    "mysql": ["DROP TRIGGER {schema}{name}"],
}


def execute(place: Place, *statements: str) -> None:
    """Carry statements out behind the store's back."""
    engine = engine_of(place)
    with engine.begin() as connection:
        for statement in statements:
            connection.execute(text(statement.replace(":", "\\:")))
    engine.dispose()


@pytest.fixture
def refuse(place: Place, db: Database) -> Iterator[Refuse]:
    """As `Refuse` says; until the test ends."""
    schema = place.settings.get("schema")
    dot = f"{schema}." if schema else ""
    family = {"mariadb": "mysql"}.get(name := engine_of(place).dialect.name, name)
    drops: list[str] = []

    def refuse(table: str, event: str, condition: str) -> None:
        label = f"refuse_{table}_{event}".lower()
        names = {
            "name": label,
            "function": dot + label,
            "table": vars(db.store.context.tables)[table].fullname,
            "schema": dot,
        }  # type: ignore[attr-defined]
        bad = f"{BAD.get(family, BAD_TEXT)} AND {condition}"
        execute(place, *(one.format(event=event, condition=bad, **names) for one in TRIGGERS[family]))
        drops.extend(one.format(**names) for one in DROPS[family])

    yield refuse
    execute(place, *drops)


@pytest.fixture
def kept(db: Database) -> Queue:
    """A queue with a history, and two attempts."""
    return db.queue("mail", history=hours(24), retry=limited(2, fixed(seconds(0))), lease=minutes(1))


def push(queue: Queue, group: str | None = None) -> dict[Any, int]:
    """Push three messages, of which the second is refused; return their ids."""
    payloads = ["a", "bad", "c"]
    drafts = [Draft(one, group=group) for one in payloads]
    return {one: pushed.id for one, pushed in zip(payloads, queue.push_many(drafts), strict=True)}


def lent(queue: Queue, n: int = 10) -> list[Any]:
    return [one.message.payload for one in queue.reserve_many(n)]


def check_told(queue: Queue, id_: int, caplog: pytest.LogCaptureFixture) -> None:
    """The message is dead, says why, and was named in the log."""
    (dead,) = queue.find("status = 'dead'")
    assert (dead.id, dead.payload) == (id_, "bad")
    assert dead.last_error is not None
    assert "refused a statement" in dead.last_error.message
    said = [one.getMessage() for one in caplog.records if one.levelno == logging.ERROR]
    assert any(f"message {id_} of mail is buried" in one for one in said)


def test_a_lapsed_turn_that_cannot_be_kept_buries_its_message_and_stops_no_claim(
    kept: Queue, clock: MovableClock, refuse: Refuse, caplog: pytest.LogCaptureFixture
) -> None:
    refuse("history", "INSERT", ANY)
    ids = push(kept)
    assert lent(kept) == ["a", "bad", "c"]
    clock.advance(minutes(1))
    assert lent(kept) == ["a", "c"]
    check_told(kept, ids["bad"], caplog)
    assert {event.payload for event in kept.history()} == {"a", "c"}


def test_a_message_that_cannot_be_lent_is_buried_and_stops_no_claim(
    queue: Queue, refuse: Refuse, caplog: pytest.LogCaptureFixture
) -> None:
    refuse("message", "UPDATE", HANDED_OUT)
    ids = push(queue)
    assert lent(queue, 2) == ["a", "c"]
    check_told(queue, ids["bad"], caplog)


def test_a_message_that_nobody_can_change_is_passed_over_and_stops_no_claim(
    queue: Queue, refuse: Refuse, caplog: pytest.LogCaptureFixture
) -> None:
    ids = push(queue)
    refuse("message", "UPDATE", ANY)
    assert lent(queue, 1) == ["a"]
    assert lent(queue, 1) == ["c"]
    assert lent(queue, 1) == []
    queue.push("d")
    assert lent(queue, 1) == ["d"]
    said = [one.getMessage() for one in caplog.records if one.levelno == logging.ERROR]
    assert any(f"message {ids['bad']} of mail can be neither handed out nor buried" in one for one in said)
    assert [one.payload for one in queue.find("status = 'new' and attempts = 0")] == ["bad"]


def test_a_lapsed_turn_in_a_group_that_cannot_be_kept_stops_neither_its_group_nor_the_queue(
    kept: Queue, clock: MovableClock, refuse: Refuse, caplog: pytest.LogCaptureFixture
) -> None:
    refuse("history", "INSERT", ANY)
    ids = push(kept, "g")
    kept.reserve().bury("no line")  # type: ignore[union-attr]
    assert lent(kept) == ["bad"]
    kept.requeue(where="status = 'dead'")
    kept.push("in no group")
    clock.advance(minutes(1))
    first = kept.reserve_many(10)
    assert [one.message.payload for one in first] == ["a", "in no group"]
    check_told(kept, ids["bad"], caplog)
    assert kept.commit_many(first) == []
    assert lent(kept) == ["c"]


def test_a_dead_letter_that_cannot_be_moved_stays_dead_where_it_is_and_stops_no_claim(
    db: Database, clock: MovableClock, refuse: Refuse, caplog: pytest.LogCaptureFixture
) -> None:
    queue = db.queue("mail", retry=limited(1, fixed(seconds(0))), dead_letter="letters", lease=minutes(1))
    refuse("message", "UPDATE", "OLD.status = 'dead' AND NEW.status = 'new'")
    ids = push(queue)
    assert lent(queue) == ["a", "bad", "c"]
    clock.advance(minutes(1))
    assert lent(queue) == []
    assert [one.payload for one in db.queue("letters").find()] == ["a", "c"]
    check_told(queue, ids["bad"], caplog)


@pytest.mark.parametrize("by_lease", [False, True], ids=["fresh", "lapsed"])
def test_a_pop_goes_on_without_a_message_whose_turn_cannot_be_kept(
    kept: Queue, clock: MovableClock, refuse: Refuse, caplog: pytest.LogCaptureFixture, by_lease: bool
) -> None:
    refuse("history", "INSERT", ANY)
    ids = push(kept)
    if by_lease:
        lent(kept)
        clock.advance(minutes(1))
    assert [one.payload for one in kept.pop_many(10)] == ["a", "c"]
    check_told(kept, ids["bad"], caplog)


def test_a_batch_of_an_engine_goes_on_without_a_message_that_cannot_be_lent(
    queue: Queue, refuse: Refuse, caplog: pytest.LogCaptureFixture
) -> None:
    refuse("message", "UPDATE", HANDED_OUT)
    ids = push(queue)
    batch = queue.bulk.lend(10, lease=minutes(1))
    assert [one.id for one in batch.receipts] == [ids["a"], ids["c"]]
    check_told(queue, ids["bad"], caplog)


def test_of_many_settlements_the_one_that_is_refused_is_named_and_the_others_count(kept: Queue, refuse: Refuse) -> None:
    ids = push(kept)
    batch = kept.reserve_many(3)
    refuse("history", "INSERT", ANY)
    (refused,) = kept.commit_many(batch)
    assert refused.receipt == batch[1].receipt
    assert isinstance(refused.error, StoreRefused)
    assert f"message {ids['bad']} was not settled" in str(refused.error)
    assert "refused a statement" in str(refused.error)
    assert [(one.payload, one.leased_by is None) for one in kept.find()] == [("bad", False)]
    assert {event.payload for event in kept.history()} == {"a", "c"}
    with pytest.raises(StoreRefused, match=f"message {ids['bad']} was not settled"):
        kept.commit(batch[1])


def test_a_worker_goes_on_beside_a_message_that_it_can_settle_in_no_way(
    kept: Queue, clock: MovableClock, refuse: Refuse, place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    refuse("history", "INSERT", ANY)
    ids = push(kept)
    handled: list[Any] = []
    with duerow.connect(place.url, clock=clock, **place.settings) as database:
        mail = database.queue("mail", history=hours(24), retry=limited(2, fixed(seconds(0))), lease=minutes(1))
        duerow.Worker(mail, lambda message: handled.append(message.payload)).run(until="idle")
        assert sorted(handled) == ["a", "bad", "c"]
        assert any(f"cannot settle message {ids['bad']} of mail" in one.getMessage() for one in caplog.records)
        clock.advance(minutes(1))
        mail.push("d")
        duerow.Worker(mail, lambda message: handled.append(message.payload)).run(until="idle")
    assert handled[3:] == ["d"]
    check_told(kept, ids["bad"], caplog)


def test_a_turn_that_is_in_the_history_already_stops_neither_a_claim_nor_a_settlement(
    kept: Queue, clock: MovableClock, db: Database, place: Place
) -> None:
    push(kept)
    kept.reserve_many(3)
    tables: Any = db.store.context.tables  # type: ignore[attr-defined]
    same = "id, token, queue, kind, payload, priority, attempts, created_at, first_due_at"
    other = "due_at, started_at, finished_at, until, outcome"
    execute(
        place,
        f"INSERT INTO {tables.history.fullname} ({same}, {other}) SELECT {same}, first_due_at, created_at, created_at, "
        f"leased_until, 'failed' FROM {tables.message.fullname}",
    )
    clock.advance(minutes(1))
    again = kept.reserve_many(3)
    assert [one.message.payload for one in again] == ["a", "bad", "c"]
    assert kept.commit_many(again) == []
    assert len({(event.id, event.token) for event in kept.history()}) == len(kept.history()) == 6
