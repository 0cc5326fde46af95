"""Messages in progress: how far their handlers are, and how they are cancelled."""

from __future__ import annotations

from typing import Any

import msgspec

from duerow.aio.edits import Edits
from duerow.aio.handle import P
from duerow.aio.own_messages import OwnMessages
from duerow.conditions.model import Condition, every
from duerow.message import LIVE
from duerow.queue import edits, mapping
from duerow.queue.edits import Changed
from duerow.where import field
from duerow.worker.progress import PROGRESS, Progress, progress_of


class InProgress(Edits[P]):
    """The part of a queue for messages in progress; see `Queue`."""

    async def cancel(
        self,
        id: int | None = None,
        *,
        key: str | None = None,
        where: str | Condition | None = None,
        dry_run: bool = False,
        within: Any = None,
    ) -> Changed:
        """Remove live messages, even while consumers work on them; the result is true if there were any.

        A waiting message is never handed out again. If a message is being handled, its handler is notified
        (`duerow.current().cancelled`) within a second or two of its start, and later at once if the database can notify
        its worker (SQLite, PostgreSQL with psycopg, MongoDB replica sets, memory), otherwise within a second. What the
        handler returns is ignored, and the message is not tried again. Dead messages stay. If a batch of tasks waits
        for one of them, that call counts as cancelled.

        Args:
            id: the message's id.
            key: the key of a live message.
            where: all live messages that meet this condition.
            dry_run: cancel nothing, only count.
            within: the caller's open transaction.

        Raises:
            ConfigurationError: not exactly one of id, key and where was given, or the id is not valid.
        """
        live = field("status").in_(LIVE)
        chosen = edits.choice(self.name, id, key, where, True, self.indexed)
        if chosen.where is not None:
            chosen = msgspec.structs.replace(chosen, where=every(chosen.where, live))
        elif chosen.id is not None:
            chosen = msgspec.structs.replace(chosen, id=None, where=every(field("id") == chosen.id, live))
        return await self._change(
            lambda previous: edits.remove(self._store, chosen, previous, dry_run, self.keeping, self._notes), within
        )

    async def progress(self, id: int) -> Progress | None:
        """Return the progress that a message's handler last reported; None: nothing, or it was deleted since.

        Raises:
            ConfigurationError: the id is not valid.
        """
        key = str(edits.one_id(id))
        found = await OwnMessages(self.database, self.name + PROGRESS, mapping.message).read([key])
        return progress_of(found[key]) if found else None
