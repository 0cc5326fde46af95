"""The identity of the database that a connection writes to: the queue's, or another one.

A caller's transaction is joined only if its statements write to the queue's own tables. Names and addresses do not
prove that: a socket and a host name may lead to the same server, and databases on two servers may have the same name.
So each connection is queried once, and the result is compared with that of one of the queue's own connections.
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
    """The known identities of the queue's database and of callers' connections.

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
        """Return whether this pool contains the connections that the queue itself uses."""
        return pool is self._engine.pool

    def is_known(self, connection: Any, info: MutableMapping[Any, Any] | None) -> bool:
        """Return whether a driver's connection is known to write to the queue's tables.

        Args:
            connection: the connection.
            info: the `info` of an SQLAlchemy connection; None for any other connection.
        """
        if info is not None:
            return self._mark in info
        try:
            return connection in self._same
        except TypeError:  # sqlite3's connections allow no weak references; querying them again is cheap
            return False

    def note(self, connection: Any, info: MutableMapping[Any, Any] | None) -> None:
        """Record that a connection writes to the queue's tables."""
        if self._ours is None:  # the queue has no tables to write to yet
            return
        if info is not None:
            info[self._mark] = True
            return
        try:
            self._same.add(connection)
        except TypeError:
            return

    def ask(self) -> Plan[tuple[Hashable, ...]]:
        """Query where a connection writes; return the possible identities, or none if it does not see the tables."""
        context = self._context
        found: tuple[Hashable, ...] = context.dialect.identified(
            (yield Step(context.statements.queues.whereabouts, {}))
        )
        if len(found) == 1:
            return found
        # A table that is not in the first database is in another. Lock first: a read would fix the snapshot.
        if found and context.hold is not None:
            yield context.hold
        has_first = context.statements.queues.in_first is not None and (
            yield Step(context.statements.queues.in_first, {})
        )
        return found[:1] if has_first else found[1:]

    def look(self) -> Plan[None]:
        """Query one of the queue's own connections; repeated after a mismatch, in case the server was replaced."""
        self._ours = next(iter((yield from self.ask())), None)
        self._is_asked = True

    def agree(self, theirs: tuple[Any, ...]) -> bool:
        """Return whether a connection with these identities writes to the queue's tables.

        If neither connection sees the tables, nothing can be written elsewhere: the statement fails because of that.
        """
        if self._ours is None:
            return self._is_asked and not theirs
        told: list[Any] = [one[1:] for one in theirs]  # without the name, because a database may have several
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
    """Return an identity in readable form: it starts with a name."""
    if identity is None:
        return "a database without such a table"
    name, *others = identity
    return f"{name} ({', '.join(map(str, others))})" if others else str(name)
