"""The identity of the database that a connection writes to: the queue's, or another one.

A caller's transaction is joined only if its statements write to the queue's own tables. Names and addresses do not
prove that: a socket and a host name may lead to the same server, and databases on two servers may have the same name.
So each connection is asked once, and its answer is compared with that of one of the queue's own connections.
"""

from __future__ import annotations

import weakref
from collections.abc import Hashable, MutableMapping
from typing import Any

from sqlalchemy import Engine

from duerow.errors import ConfigurationError
from duerow.plan import Plan
from duerow.stores.sql.plans.context import Context
from duerow.stores.sql.statements import Step


class Identities:
    """What is known of the queue's database, and of callers' connections.

    Args:
        context: the context with the tables.
        engine: the queue's engine.
    """

    def __init__(self, context: Context, engine: Engine) -> None:
        self._context, self._engine = context, engine
        self._ours: Any = None
        self._is_asked = False
        self._mark = object()
        self._same: weakref.WeakSet[Any] = weakref.WeakSet()

    def is_ours(self, pool: object) -> bool:
        """Return whether connections of this pool are those that the queue uses itself."""
        return pool is self._engine.pool

    def is_known(self, connection: Any, info: MutableMapping[Any, Any] | None) -> bool:
        """Return whether a driver's connection is known to write to the queue's tables.

        Args:
            connection: the connection.
            info: SQLAlchemy's `info` of the connection; None if it is not one of SQLAlchemy's.
        """
        if info is not None:
            return self._mark in info
        try:
            return connection in self._same
        except TypeError:  # sqlite3's cannot be held weakly; it asks nobody else, so to ask it again costs little
            return False

    def note(self, connection: Any, info: MutableMapping[Any, Any] | None) -> None:
        """Record that a connection writes to the queue's tables."""
        if self._ours is None:  # there are no tables that it could write to
            return
        if info is not None:
            info[self._mark] = True
            return
        try:
            self._same.add(connection)
        except TypeError:
            return

    def ask(self) -> Plan[tuple[Hashable, ...]]:
        """Ask a connection where it writes; return the possible answers, none if it does not see the tables."""
        context = self._context
        found: tuple[Hashable, ...] = context.dialect.identified(
            (yield Step(context.statements.queues.whereabouts, {}))
        )
        if len(found) == 1:
            return found
        # A name that the first one has not leads to one of the others. Held first: a read would fix what is seen.
        if found and context.hold is not None:
            yield context.hold
        has_first = context.statements.queues.in_first is not None and (
            yield Step(context.statements.queues.in_first, {})
        )
        return found[:1] if has_first else found[1:]

    def look(self) -> Plan[None]:
        """Ask one of the queue's own connections; again after a difference, in case the server was replaced."""
        self._ours = next(iter((yield from self.ask())), None)
        self._is_asked = True

    def agree(self, theirs: tuple[Any, ...]) -> bool:
        """Return whether a connection with this answer writes to the queue's tables.

        If nobody sees the tables, nothing can be written elsewhere: the statement fails for that reason.
        """
        if self._ours is None:
            return self._is_asked and not theirs
        told: list[Any] = [one[1:] for one in theirs]  # behind the name, which may be one of several
        return self._ours[1:] in told and (bool(self._ours[1:]) or "cache=shared" in str(self._engine.url))

    def another(self, theirs: tuple[Any, ...]) -> ConfigurationError:
        """Return the error for a transaction that would write elsewhere."""
        table, ours = self._context.tables.message.fullname, _shown(self._ours)
        return ConfigurationError(
            f"within= is a transaction of another database: the table {table} of this queue is in {ours}, and the "
            f"transaction would write to {_shown(next(iter(theirs), None))}; give one of the queue's own database, or "
            "open the queue there"
        )


def _shown(identity: Any) -> str:
    """Return an identity for people: it begins with a name."""
    if identity is None:
        return "a database without such a table"
    name, *others = identity
    return f"{name} ({', '.join(map(str, others))})" if others else str(name)
