"""Statements for finished turns and remembered keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Insert,
    Integer,
    Select,
    Text,
    and_,
    case,
    func,
    literal,
    null,
    select,
    tuple_,
)
from sqlalchemy.sql.base import Executable

from duerow.conditions.model import Condition
from duerow.store import HistoryQuery, PlaceInHistory
from duerow.stores.sql.conditions import Conditions
from duerow.stores.sql.dialects.base import const
from duerow.stores.sql.statements.context import StatementGroup, unserved
from duerow.stores.sql.statements.core import RECEIPT, OverRows, Statement

STORY: Final = ("outcome", "moved_to", "kind", "payload", "error")
"""The columns of an ending turn in addition to its receipt; if kind and payload are null, the message's are used."""

PAST: Final = (
    "id",
    "token",
    "queue",
    "key",
    "kind",
    "payload",
    "headers",
    "group",
    "priority",
    "outcome",
    "moved_to",
    "attempts",
    "created_at",
    "first_due_at",
    "due_at",
    "started_at",
    "finished_at",
    "worker",
    "error",
)
"""The columns of a turn, in the order of the fields of `HistoryRow`."""


class HistoryStatements(StatementGroup):
    """Statements for history and remembered keys."""

    # History.

    @cached_property
    def keep_turns(self) -> OverRows:
        """Write the ending turns of rows whose token matches, and lock the rows."""
        return self.over(
            (*RECEIPT, *STORY), lambda given: self._kept(self._told(given), given, self.context.held_by(given))
        )

    @cached_property
    def keep_parts(self) -> OverRows:
        """Write turns of messages that become parts of sets, with their own headers."""

        def build(given: Any) -> Executable:
            told = self._told(given) | {"headers": self.json(given.c.headers)}
            return self._kept(told, given, self.context.held_by(given))

        return self.over((*RECEIPT, *STORY, "headers"), build)

    @lru_cache(maxsize=2)  # noqa: B019 - lives as long as the store
    def keep_lapsed(self, buries: bool) -> OverRows:
        """Write the turns of picked rows whose lease expired: as failed, or as dead if attempts are used up.

        With `buries`, rows whose attempts are used up are about to be buried.
        """
        columns = self.message.c
        attempts = self.bound("attempts_in", Integer())
        told: dict[str, Any] = {
            "outcome": const("failed"),
            "finished_at": columns.leased_until,
            "error": self.dialect.ended_lease(self.message, attempts),
        }
        if buries:
            used_up = columns.attempts >= attempts
            told["outcome"] = case((used_up, const("dead")), else_=const("failed"))
            told["moved_to"] = case((used_up, self.bound("to_in", Text())))

        def build(given: Any) -> Executable:
            lapsed = and_(*self.context.same_row(given), columns.leased_until.is_not(None))
            return self._kept(told, given, lapsed)

        return self.over(("id",), build)

    @cached_property
    def keep_popped(self) -> OverRows:
        """Write the turns of picked rows that are about to be popped."""
        columns = self.message.c
        told = {
            "token": columns.token + const(1),
            "outcome": const("done"),
            "attempts": columns.attempts + const(1),
            "due_at": columns.due_at,
            "started_at": self.now,
            "worker": null(),
        }
        return self.over(("id",), lambda given: self._kept(told, given, and_(*self.context.same_row(given))))

    def history_rows(self, query: HistoryQuery) -> Statement:
        """Read turns of a queue's history; built for one use, with the condition's values."""
        history = self.tables.history
        columns = history.c
        found = select(*self._shown(PAST)).where(columns.queue == self.bound("queue_in", Text()))
        if query.id is not None:
            found = found.where(columns.id == literal(query.id, BigInteger()))
        if query.ends:
            found = found.where(columns.outcome != const("failed"))
        if query.where is not None:
            found = found.where(Conditions(self.dialect, history).clause(query.where))
        place = (columns.finished_at, columns.id, columns.token)
        if query.after is not None:
            mark = self._place(query.after)
            found = found.where(tuple_(*place) > mark if query.oldest_first else tuple_(*place) < mark)
        if query.until is not None:
            found = found.where(tuple_(*place) <= self._place(query.until))
        # Turns of one message finish in the order of their tokens, as in the primary key.
        columns_in_line = place if query.id is None else (columns.token,)
        line = columns_in_line if query.oldest_first else [column.desc() for column in columns_in_line]
        found = found.order_by(*line).limit(self.bound("limit_in", Integer()))
        return Statement(found, kept=False, bounded=query.id is None)

    def scan_history(self, by: tuple[str, ...], where: Condition | None, shown: Sequence[str] = PAST) -> Statement:
        """Read turns of the given `queues`, ordered by id and token; with `descending`, in descending order."""
        history = self.tables.history
        place = (history.c.id, history.c.token)
        found = select(*self._shown(shown)).where(history.c.id <= self.bound("last", BigInteger()))
        if "queues" in by:
            found = found.where(self.dialect.among(unserved(history.c.queue), "queues"))
        if where is not None:
            found = found.where(Conditions(self.dialect, history).clause(where))
        if "descending" not in by:
            mark = (self.bound("after", BigInteger()), self.bound("after_token", BigInteger()))
            found = found.where(tuple_(*place) > tuple_(*mark))
        line = [column.desc() for column in place] if "descending" in by else place
        return Statement(found.order_by(*line).limit(self.bound("limit_in", Integer())), kept=False)

    def _shown(self, names: Sequence[str]) -> list[ColumnElement[Any]]:
        """Return columns of history, with JSON as text."""
        columns, json = self.tables.history.c, self.dialect.json
        return [
            self.dialect.as_text(columns[name]).label(name) if columns[name].type is json else columns[name]
            for name in names
        ]

    @cached_property
    def expired_turns(self) -> Statement:
        """Lock expired turns, and read their receipts."""
        columns = self.tables.history.c
        return Statement(self.expired(select(columns.id, columns.token), columns.until))

    @cached_property
    def forget_turns(self) -> OverRows:
        """Delete turns; return their ids."""
        history = self.tables.history

        def build(given: Any) -> Executable:
            return self.dialect.remove(history, given, RECEIPT, returning=[history.c.id])

        return self.over(RECEIPT, build)

    # Remembered keys.

    @cached_property
    def remember_ended(self) -> OverRows:
        """Remember the keys of rows whose token matches and whose turn is ending, and lock the rows."""
        columns = self.message.c

        def build(given: Any) -> Executable:
            rows = select(columns.queue, columns.key, columns.id, self._keys_until)
            owned = self.dialect.joined(rows, given, self.message, self.context.held_by(given))
            owned = owned.where(columns.key.is_not(None))
            return self._remembering(owned.order_by(columns.queue, columns.key).with_for_update(of=self.message))

        return self.over(RECEIPT, build)

    @cached_property
    def remember(self) -> OverRows:
        """Remember the given keys of messages that have left."""

        def build(given: Any) -> Executable:
            rows = select(given.c.queue, given.c.key, given.c.id, self._keys_until).where(const(1) == const(1))
            return self._remembering(rows.order_by(given.c.queue, given.c.key))

        return self.over(("queue", "key", "id"), build)

    @cached_property
    def hold_remembered(self) -> OverRows:
        """Hold the given keys unless they are remembered, even by a concurrent commit; return the keys held.

        A key is held by a row that has already expired: the bound `over` is earlier than any other time.
        """
        columns = self.tables.remembered.c

        def build(given: Any) -> Executable:
            before_all = self.bound("over", self.dialect.moment)
            rows = select(given.c.queue, given.c.key, given.c.id, before_all).where(const(1) == const(1))
            over = columns.until <= self.now
            put = self._remembering(rows.order_by(given.c.queue, given.c.key), over)
            return self.dialect.answer_put(put, (columns.queue, columns.key), columns.until == before_all)

        return self.over(("queue", "key", "id"), build)

    @cached_property
    def remembered(self) -> OverRows:
        """Read the former holders of the given keys, and whether they are still remembered."""
        columns = self.tables.remembered.c
        shown = [columns.queue, columns.key, columns.id, (columns.until > self.now).label("still")]
        place = {"queue": columns.queue, "key": columns.key}
        return self.over(("queue", "key"), lambda given: self.dialect.look_up(shown, given, (), place, locked=False))

    @cached_property
    def expired_keys(self) -> Statement:
        """Lock expired keys, and read them."""
        columns = self.tables.remembered.c
        return Statement(self.expired(select(columns.queue, columns.key), columns.until))

    @cached_property
    def forget_keys(self) -> OverRows:
        """Delete remembered keys; return the ids of their former holders."""
        remembered = self.tables.remembered
        columns = remembered.c

        def build(given: Any) -> Executable:
            return self.dialect.remove(remembered, given, ("queue", "key"), returning=[columns.id])

        return self.over(("queue", "key"), build)

    # Shared parts.

    def _told(self, given: Any) -> dict[str, Any]:
        """Return the given values of ending turns, with their messages' values where none are given."""
        columns = self.message.c
        return {
            "outcome": given.c.outcome,
            "moved_to": given.c.moved_to,
            "kind": func.coalesce(given.c.kind, columns.kind),
            "payload": func.coalesce(self.json(given.c.payload), columns.payload),
            "error": self.json(given.c.error),
        }

    def _kept(self, told: Mapping[str, Any], given: Any, which: ColumnElement[bool]) -> Insert:
        """Write turns of the rows that match a condition; columns that are not in `told` come from the message.

        If a turn is already in history, its row stays, because the turn was over then; a second end must not fail.
        """
        columns = self.message.c
        kept = {name: columns[name] for name in PAST if name in columns} | {
            "moved_to": null(),
            "due_at": func.coalesce(columns.place_at, columns.first_due_at, type_=self.dialect.moment),
            "started_at": func.coalesce(columns.last_attempt_at, self.now, type_=self.dialect.moment),
            "finished_at": self.now,
            "worker": columns.leased_by,
            "error": null(),
            **told,
            "until": self.dialect.later(self.now, self.bound("history", self.dialect.span)),
        }
        rows = self.dialect.joined(select(*kept.values()), given, self.message, which)
        rows = rows.with_for_update(of=self.message)
        history = self.tables.history
        added: Any = self.dialect.insert(history).from_select(list(kept), rows)
        keeping: Insert = self.dialect.put(added, [history.c.id, history.c.token], lambda new: {"until": new.until})
        return keeping

    @property
    def _keys_until(self) -> ColumnElement[Any]:
        return self.dialect.later(self.now, self.bound("keys", self.dialect.span))

    def _remembering(self, rows: Select[Any], only: ColumnElement[bool] | None = None) -> Insert:
        columns = self.tables.remembered.c
        added: Any = self.dialect.insert(self.tables.remembered).from_select(["queue", "key", "id", "until"], rows)
        remembering: Insert = self.dialect.put(
            added, [columns.queue, columns.key], lambda new: {"id": new.id, "until": new.until}, only
        )
        return remembering

    def expired(
        self, found: Select[Any], until: ColumnElement[Any], than: ColumnElement[Any] | None = None
    ) -> Select[Any]:
        """Lock the first expired rows."""
        over = found.where(until <= (self.now if than is None else than)).order_by(until)
        return over.limit(self.bound("limit_in", Integer())).with_for_update(skip_locked=True)

    def _place(self, place: PlaceInHistory) -> ColumnElement[Any]:
        finished_at, id, token = place
        moment = literal(self.dialect.write_moment(finished_at), self.dialect.moment)
        return tuple_(moment, literal(id, BigInteger()), literal(token, BigInteger()))
