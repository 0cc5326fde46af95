"""The caller's own transaction, which duerow neither begins nor ends."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

from duerow.plan import BEGIN, AsyncExecute, arun
from duerow.stores.sql.connections.aio.raw import Raw
from duerow.stores.sql.connections.aio.through_sqlalchemy import ThroughSqlalchemy
from duerow.stores.sql.connections.identity import Identities
from duerow.stores.sql.plans.context import Context


class JoinedExecute:
    """The caller's own transaction, which duerow neither begins nor ends."""

    def __init__(self, execute: Raw | ThroughSqlalchemy, context: Context) -> None:
        self.execute, self.hold = execute, context.hold

    async def __call__(self, step: Any) -> Any:
        """Execute one step. On SQLite, begin as a writer: a transaction that reads before it writes could fail."""
        if step is not BEGIN:
            return await self.execute(step)
        if self.hold is not None:
            await self.execute(self.hold)
        return None


async def check_database(
    known: Identities,
    execute: AsyncExecute,
    raw: Any,
    info: Any,
    lend: Callable[[], AbstractAsyncContextManager[AsyncExecute]],
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
    if not known.agree(theirs := await arun(known.ask(), execute)):
        async with lend() as own:
            await arun(known.look(), own)
        if not known.agree(theirs):
            raise known.another(theirs)
    known.note(raw, info)
