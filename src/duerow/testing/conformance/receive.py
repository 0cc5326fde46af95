"""Messages from another database are imported as they were, exactly once under each name."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from duerow import Database, Queue
from duerow.errors import NotSupported
from duerow.plan import BEGIN, Plan
from duerow.store import Arrival, HistoryRow, Reception, Record, Scan
from duerow.testing.clock import START, MovableClock, hours, minutes
from duerow.testing.contents import everything

WEEK = timedelta(days=7)
EARLIER = START - hours(5)
ERROR = '{"message":"no answer","traceback":null,"type":"OSError"}'


def message(id: int, **more: Any) -> Record:
    """Return a message as another database stores it."""
    plain: dict[str, Any] = {
        "queue": "mail",
        "payload": f'{{"n":{id}}}',
        "kind": "json",
        "key": None,
        "headers": None,
        "group": None,
        "priority": 0,
        "status": "new",
        "due_at": EARLIER,
        "first_due_at": EARLIER,
        "attempts": 0,
        "token": 0,
        "leased_by": None,
        "leased_until": None,
        "created_at": EARLIER,
        "last_attempt_at": None,
        "last_error": None,
    }
    return Record(id=id, **{**plain, **more})


def turn(id: int, token: int, outcome: Any = "failed") -> HistoryRow:
    """Return a finished turn as another database stores it."""
    return HistoryRow(
        id=id,
        token=token,
        queue="mail",
        key="k",
        kind="json",
        payload="1.0",
        headers='{"a":1}',
        group=None,
        priority=0,
        outcome=outcome,
        moved_to=None,
        attempts=token,
        created_at=EARLIER,
        first_due_at=EARLIER,
        due_at=EARLIER + minutes(1),
        started_at=EARLIER + minutes(2),
        finished_at=EARLIER + minutes(3),
        worker="host:1:w/c",
        error=ERROR,
    )


MESSAGES = [
    message(70, key="k", status="dead", due_at=None, attempts=3, token=6, last_error=ERROR),
    message(
        71,
        key="k",
        status="error",
        due_at=START + hours(1),
        attempts=2,
        token=4,
        headers='{"trace":"t"}',
        last_attempt_at=EARLIER,
        last_error=ERROR,
        leased_by="host:1:w/c",
        leased_until=START + hours(1),
    ),
    message(74, group="g", priority=-3, kind="bytes", payload='"AAE="'),
    message(75, group="g", due_at=None),
]
TURNS = [turn(71, 1), turn(71, 3), turn(73, 1, "done")]


def named(those: Sequence[Record | HistoryRow], prefix: str = "") -> list[Arrival]:
    """Return an arrival for each, under a separate name."""
    return [Arrival(f"{prefix}{place}", what) for place, what in enumerate(those)]


def receive(db: Database, arrivals: list[Arrival], final: bool = False) -> list[Reception]:
    """Let them arrive, with turns kept for a week after they finished."""
    return db.run(lambda: db.store.bulk.receive(arrivals, WEEK, final))


def kept(db: Database) -> list[HistoryRow]:
    """Return all turns in the history, in the order of their ids."""
    return [one for one in db.run(lambda: db.store.bulk.scan(Scan(turns=True))) if isinstance(one, HistoryRow)]


def test_what_comes_from_another_database_is_as_it_was_and_comes_once(db: Database, clock: MovableClock) -> None:
    arrivals = named([*MESSAGES, *TURNS])
    if not db.store.capabilities.receives:
        with pytest.raises(NotSupported):
            receive(db, arrivals)
        assert everything(db) == []
        return
    db.queue("mail").push("was here", delay=hours(9))
    assert receive(db, [*arrivals, Arrival("a name alone", None)]) == ["arrived"] * 8
    assert receive(db, [*arrivals, Arrival("a name alone", None)]) == ["before"] * 8
    found = everything(db)[1:]
    wanted = [replace(one, leased_by=None, leased_until=None) for one in MESSAGES]
    assert [replace(one, id=old.id) for one, old in zip(found, wanted, strict=True)] == wanted
    turns = kept(db)
    failed = found[1].id
    assert [(one.id, one.token) for one in turns[:2]] == [(failed, 1), (failed, 3)]
    assert [replace(one, id=old.id) for one, old in zip(turns, TURNS, strict=True)] == TURNS
    assert failed < turns[2].id < found[2].id  # the new ids follow the old ones
    # Turns without a message use up its id, and a message its tokens, so nothing later is mistaken for them.
    assert receive(db, [Arrival("later", turn(99, 1))]) == ["arrived"]
    assert db.queue("mail").push("next").id > max(one.id for one in kept(db))
    clock.advance(hours(2))
    again = [one for one in db.queue("mail", history=WEEK).reserve_many(9) if one.message.id == failed]
    assert [one.attempt for one in again] == [3]
    again[0].commit()
    assert [one.outcome for one in kept(db) if one.id == failed] == ["failed", "failed", "done"]
    # A group continues where it was: its head has gone, and the other message is stopped.
    assert db.queue("mail").why(found[3].id)[0].code == "stopped"
    clock.advance(WEEK - hours(6.9))
    db.prune()
    assert [one.outcome for one in kept(db)] == ["done"]


def test_what_has_a_key_that_is_taken_is_refused_with_its_turns_and_for_good_only_if_that_is_final(
    db: Database, queue: Queue
) -> None:
    if not db.store.capabilities.receives:
        return
    holder = queue.push("mine", key="k")
    those: list[Record | HistoryRow] = [message(5, key="k"), message(6, key="free"), turn(5, 1), turn(6, 1)]
    assert receive(db, named(those)) == ["refused", "arrived", "refused", "arrived"]
    assert receive(db, named(those[:1], "for good "), final=True) == ["refused"]
    queue.remove(holder.id)
    assert receive(db, named(those[:1], "for good "), final=True) == ["refused"]
    assert receive(db, named(those)) == ["arrived", "before", "arrived", "before"]
    assert [one.key for one in queue.find()] == ["free", "k"]
    assert len(kept(db)) == 2


def test_what_is_cut_off_while_it_arrives_has_not_come(db: Database) -> None:
    if not db.store.capabilities.receives:
        return
    arrivals = named([*MESSAGES, *TURNS])

    def cut_off() -> Plan[None]:
        yield BEGIN
        yield from db.store.bulk.receive(arrivals, WEEK)
        raise OSError("cut off")

    with pytest.raises(OSError, match="cut off"):
        db.run(cut_off)
    assert (everything(db), kept(db)) == ([], [])
    assert receive(db, arrivals) == ["arrived"] * 7
