"""Statements that add messages, or change messages that hold a key."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import Any, Final

from sqlalchemy import ColumnElement, Null, Select, and_, case, cast, func, null, select
from sqlalchemy.sql.base import Executable

from duerow.stores.sql.dialects.base import const
from duerow.stores.sql.statements.context import StatementGroup
from duerow.stores.sql.statements.core import ENTRY, ONE, OverRows, Statement

OPTIONAL: Final = frozenset(("headers", "due", "delay"))
"""The columns of ENTRY that a statement leaves out if no message has a value for them."""


class PushStatements(StatementGroup):
    """Statements that add messages, or change messages that hold a key."""

    @lru_cache(maxsize=64)  # noqa: B019 - lives as long as the store
    def insert_one(self, given: frozenset[str], asking: bool = False) -> Statement:
        """Add one message and return its id, or nothing if its key is held; wake sleeping consumers.

        `given` names the columns with a value, in addition to queue, kind and payload. With `asking`, nothing is added
        to a queue that is being drained.
        """
        bound: dict[str, Any] = {
            name: self.bound(f"{name}_in", kind) if name in given or name in ONE else null()
            for name, kind in self.context.entry_types.items()
            if name != "id"
        }
        insert = self.dialect.insert(self.message)
        if asking:
            typed = {
                name: value if isinstance(value, Null) else cast(value, value.type) for name, value in bound.items()
            }
            fresh = self.fresh(typed)
            added: Any = insert.from_select(list(fresh), select(*fresh.values()).where(self.context.takes_messages))
        else:
            added = insert.values(self.fresh(bound))
        woken = self.context.woken(self.tables.waiting.c.queue == bound["queue"])
        answer = [self.message.c.id, *([] if woken is None else [woken.scalar_subquery()])]
        return Statement(self.if_free(added, answer) if "key" in given else added.returning(*answer))

    @cached_property
    def insert_many(self) -> OverRows:
        """Add messages with given ids, locking in key order; return the ids of messages whose key was free."""

        def build(given: Any) -> Executable:
            fresh = self.fresh(_values(given, ENTRY))
            rows = select(*fresh.values()).select_from(given).where(const(1) == const(1))
            rows = rows.order_by(given.c.queue, given.c.key, given.c.id)
            added = self.dialect.insert(self.message).from_select(list(fresh), rows)
            return self.if_free(added, [self.message.c.id], told_ids=True)

        return self.over(ENTRY, build, OPTIONAL, inserts=True)

    @cached_property
    def insert_keyless(self) -> OverRows:
        """Add messages without keys; return their ids, which ascend in the order of the input."""

        def build(given: Any) -> Executable:
            fresh = self.fresh(_values(given, ENTRY[1:]))
            rows = select(*fresh.values()).select_from(given)
            return self.dialect.insert(self.message).from_select(list(fresh), rows).returning(self.message.c.id)

        return self.over(ENTRY[1:], build, OPTIONAL, inserts=True)

    @cached_property
    def insert_grouped(self) -> OverRows:
        """Like `insert_keyless`, with some rows in groups; `behind`: another message of the group goes first."""

        def build(given: Any) -> Executable:
            fresh = self.fresh(_values(given, ENTRY[1:]))
            due = fresh["due_at"]
            fresh["due_at"] = case((given.c.behind, null()), else_=due)
            fresh["behind_at"] = case((given.c.behind, due), else_=null())
            rows = select(*fresh.values()).select_from(given)
            return self.dialect.insert(self.message).from_select(list(fresh), rows).returning(self.message.c.id)

        return self.over((*ENTRY[1:], "behind"), build, OPTIONAL, inserts=True)

    @cached_property
    def next_ids(self) -> Statement:
        """Return `count` new ids, ascending."""
        return Statement(self.dialect.next_ids(self.message, self.tables.prefix, self.tables.schema))

    @cached_property
    def holders(self) -> OverRows:
        """Read the live messages that hold the given keys, and lock them in order if the database can."""

        def build(given: Any) -> Executable:
            return self._held(self.context.record, given, locked=True)

        return self.over(("queue", "key"), build)

    @cached_property
    def holder_ids(self) -> OverRows:
        """Read the ids of the live messages that hold the given keys."""
        columns = self.message.c

        def build(given: Any) -> Executable:
            return self._held([columns.queue, columns.key, columns.id], given, locked=False)

        return self.over(("queue", "key"), build)

    def _held(self, shown: Sequence[ColumnElement[Any]], given: Any, locked: bool) -> Select[Any]:
        columns = self.message.c
        key, live = self.dialect.live_key(self.message, self.context.live)
        return self.dialect.look_up(shown, given, live, {"queue": columns.queue, "key": key}, locked)

    @cached_property
    def replace(self) -> OverRows:
        """Give messages that hold a key the content of a new push, and end their leases."""

        def build(given: Any) -> Executable:
            due = self.context.due(given.c.due, given.c.delay)
            values = {
                "kind": given.c.kind,
                "payload": self.json(given.c.payload),
                "headers": self.json(given.c.headers),
                "group": given.c.group,
                "priority": given.c.priority,
                "status": const("new"),
                "due_at": due,
                "behind_at": null(),
                "first_due_at": due,
                "attempts": const(0),
                "last_attempt_at": null(),
                "last_error": null(),
                **self.context.turned,
            }
            return self.dialect.change(self.message, self.context.same_row(given), values, given=given)

        return self.over(("id", *ENTRY[3:]), build)

    @cached_property
    def hasten(self) -> OverRows:
        """Make unleased messages that hold a key due earlier, at a given time; return the changed ones."""
        columns = self.message.c

        def build(given: Any) -> Executable:
            due = self.context.due(given.c.due, given.c.delay)
            stands = func.coalesce(columns.due_at, columns.behind_at, type_=self.dialect.moment)
            earlier = and_(*self.context.same_row(given), columns.leased_by.is_(None), stands > due)
            values = {"due_at": due, "behind_at": null()}
            return self.dialect.change(self.message, [earlier], values, [columns.id], given)

        return self.over(("id", "due", "delay"), build)

    def fresh(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return all columns of a new message."""
        due = self.context.due(given["due"], given["delay"])
        ids = {"id": given["id"]} if "id" in given else {}
        return {
            **ids,
            "queue": given["queue"],
            "key": given["key"],
            "kind": given["kind"],
            "payload": self.json(given["payload"]),
            "headers": self.json(given["headers"]),
            "group": given["group"],
            "priority": const(0) if isinstance(given["priority"], Null) else given["priority"],
            "status": const("new"),
            "due_at": due,
            "first_due_at": due,
            "attempts": const(0),
            "token": const(0),
            "created_at": self.now,
        }

    def if_free(self, added: Any, answer: Sequence[ColumnElement[Any]], told_ids: bool = False) -> Executable:
        """Add the rows whose key no live message holds; return the rows that were added."""
        columns = self.message.c
        held = and_(columns.key.is_not(None), self.context.live)
        return self.dialect.add_free(added, (columns.queue, columns.key), held, answer, told_ids)


def _values(given: Any, names: Sequence[str]) -> dict[str, Any]:
    """Return columns of given rows by name, with null for columns that are left out."""
    return {name: given.c[name] if name in given.c else null() for name in names}
