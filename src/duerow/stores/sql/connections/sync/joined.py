# Generated from ../aio/joined.py by tools/generate_sync.py; edit that file instead.
"""The caller's own transaction, which duerow neither begins nor ends."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from duerow.plan import BEGIN, Execute, run
from duerow.stores.sql.connections.identity import Identities
from duerow.stores.sql.connections.sync.raw import Raw
from duerow.stores.sql.connections.sync.through_sqlalchemy import ThroughSqlalchemy
from duerow.stores.sql.plans.context import Context


class JoinedExecute:
    """The caller's own transaction, which duerow neither begins nor ends."""

    def __init__(self, execute: Raw | ThroughSqlalchemy, context: Context) -> None:
        self.execute, self.hold = execute, context.hold

    def __call__(self, step: Any) -> Any:
        """Execute one step. On SQLite, begin as a writer: a transaction that reads before it writes could fail."""
        if step is not BEGIN:
            return self.execute(step)
        if self.hold is not None:
            self.execute(self.hold)
        return None


def check_database(
    known: Identities,
    execute: Execute,
    raw: Any,
    info: Any,
    lend: Callable[[], AbstractContextManager[Execute]],
) -> None:
    """Raise ConfigurationError if the caller's connection writes to tables other than the queue's.

    Args:
        known: the known identities of the databases of the queue's and earlier callers' connections.
        execute: runs steps on the caller's connection.
        raw: the driver's connection.
        info: the `info` of an SQLAlchemy connection; None for any other connection.
        lend: lends one of the queue's own connections.
    """
    if known.is_known(raw, info):
        return
    if not known.agree(theirs := run(known.ask(), execute)):
        with lend() as own:
            run(known.look(), own)
        if not known.agree(theirs):
            raise known.another(theirs)
    known.note(raw, info)
