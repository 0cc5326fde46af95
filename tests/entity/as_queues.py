"""The promises of queues are written in terms of pushed payloads; here a push is a row, and its payload a column."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Any

import msgspec
from sqlalchemy import Engine, delete, select
from sqlalchemy.orm import Session

from duerow import Draft, Message, Pushed, Reservation
from duerow.clock import Clock
from duerow.store import Query, Record
from tests.entity.models import MODELS

Open = Callable[..., Any]
"""Makes an EntityQueue of the face under test."""


class RowsAsQueues:
    """A database whose queues are tables.

    Args:
        engine: a blocking engine, by which rows are pushed and looked at.
        open_queue: makes the queues under test.
        clock: the time of the test.
    """

    def __init__(self, engine: Engine, open_queue: Open, clock: Clock | None) -> None:
        self.engine, self.clock, self._open = engine, clock, open_queue
        self.store = self.messages = self

    def queue(self, name: str, **terms: Any) -> RowsAsQueue:
        """Return the queue of a table."""
        return RowsAsQueue(self, name, self._open(MODELS[name].sending, on_done="delete", **terms))

    def queues(self, *, reserved: bool = False) -> list[str]:
        """The tables that have rows; none of them is reserved."""
        return [name for name in MODELS if self.find(Query(name))]

    def run(self, plan: Callable[[], Any]) -> Any:
        """Carry out what is asked of the store; nothing here is a plan."""
        return plan()

    def find(self, query: Query) -> list[Any]:
        """The messages of a queue, as values."""
        return self.queue(query.queue).find(limit=query.limit)

    def remove(self, name: str, ids: list[int], keys: list[str], even_if_leased: bool) -> None:
        """Delete rows."""
        with Session(self.engine) as session, session.begin():
            session.execute(delete(MODELS[name]).where(MODELS[name].id.in_(ids)))


class RowsAsQueue:
    """The queue of a table, with what the promises look at."""

    def __init__(self, database: RowsAsQueues, name: str, entities: Any) -> None:
        self.database, self.name, self.entities = database, name, entities
        self.model = MODELS[name]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.entities, name)

    def push(self, payload: Any, **options: Any) -> Pushed:
        """Insert a row."""
        return self.push_many([Draft(payload, **options)])[0]

    def push_many(self, drafts: Iterable[Draft]) -> list[Pushed]:
        """Insert rows."""
        clock = self.database.clock
        with Session(self.database.engine) as session, session.begin():
            rows = []
            for draft in drafts:
                row = self.model(key=draft.key, payload=draft.payload, headers=draft.headers or {})
                row.sending.schedule(draft.due or (clock and clock.now() + (draft.delay or timedelta(0))))
                rows.append(row)
            session.add_all(rows)
            session.flush()
            return [Pushed(row.id, "created") for row in rows]

    def reserve(self, **options: Any) -> Reservation | None:
        """Reserve a row, with its payload."""
        lent = self.entities.reserve(**options)
        return None if lent is None else self._with_payload([lent])[0]

    def reserve_many(self, n: int, **options: Any) -> list[Reservation]:
        """Reserve rows, with their payloads."""
        return self._with_payload(self.entities.reserve_many(n, **options))

    def pop(self) -> Message | None:
        """A row that is done as soon as it is lent."""
        lent = self.reserve()
        if lent is not None:
            self.entities.commit(lent)
        return None if lent is None else lent.message

    def find(self, limit: int = 100) -> list[Message]:
        """The rows as messages."""
        with Session(self.database.engine) as session:
            rows = session.scalars(select(self.model).order_by(self.model.id).limit(limit))
            return [self._message(row) for row in rows]

    def get(self, id: int) -> Message | None:
        """One of them."""
        return next((message for message in self.find(200_000) if message.id == id), None)

    def contains(self, key: str) -> bool:
        """Whether a live row has the key."""
        return any(one.key == key and one.status in ("new", "error") for one in self.find(200_000))

    def count(self, status: str | None = None) -> int:
        """How many rows there are."""
        return sum(status in (None, one.status) for one in self.find(200_000))

    def peek(self) -> list[Message]:
        """The first row that is due."""
        now = self.database.clock.now()  # type: ignore[union-attr]
        due = [one for one in self.find(200_000) if one.due_at is not None and one.due_at <= now]
        return sorted(due, key=lambda one: (one.due_at, one.id))[:1]

    def remove(self, id: int | None = None, *, key: str | None = None, even_if_leased: bool = False) -> None:
        """Delete a row."""
        ids = [one.id for one in self.find(200_000) if one.id == id or (key is not None and one.key == key)]
        self.database.remove(self.name, ids, [], even_if_leased)

    def _with_payload(self, lent: list[Any]) -> list[Reservation]:
        with Session(self.database.engine) as session:
            wanted = [one.message.id for one in lent]
            rows = {row.id: row for row in session.scalars(select(self.model).where(self.model.id.in_(wanted)))}
            return [_filled(one, rows[one.message.id]) for one in lent]

    def _message(self, row: Any) -> Message:
        state = row.sending
        leased = state.leased_until is not None and state.leased_until == state.due_at
        known = Record(
            row.id, self.name, "null", "json", row.key, None, None, 0, state.status, state.due_at, state.first_due_at,
            state.attempts, state.token, state.leased_by if leased else None, state.leased_until if leased else None,
            state.first_due_at, state.last_attempt_at, None,
        )  # fmt: skip
        fields = {name: getattr(known, name) for name in Message.__struct_fields__}
        return Message(**{**fields, "payload": row.payload, "headers": row.headers, "last_error": state.failure})


def _filled(lent: Any, row: Any) -> Any:
    """Return a reservation whose message has key and payload; of the awaited face, within its presentation."""
    bare = getattr(lent, "_wrapped", lent)
    filled = msgspec.structs.replace(
        bare, message=msgspec.structs.replace(bare.message, payload=row.payload, key=row.key, headers=row.headers)
    )
    return filled if bare is lent else type(lent)(filled, lent._run)
