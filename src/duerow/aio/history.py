"""A queue's history: show how turns ended, and push messages again."""

from __future__ import annotations

from typing import Any

from duerow.aio.handle import P, QueueHandle
from duerow.conditions.model import Condition
from duerow.queue.history import Event, Replayed, asked, choice, event, replay


class History(QueueHandle[P]):
    """The part of a queue for its history; see `Queue`."""

    async def history(
        self,
        where: str | Condition | None = None,
        *,
        id: int | None = None,
        limit: int = 100,
        after: Event[Any] | None = None,
    ) -> list[Event[P]]:
        """Return finished turns, the latest first, one page at a time.

        Turns are kept if they end through a handle with `history=…`, for as long as it specifies. Turns that were given
        back before they started are not included, and neither are changes and removals by an operator.

        Args:
            where: only turns that meet this condition, which may use the fields of an `Event`:
                `outcome = 'failed' and payload.companyId = 3345 and error.type = 'TimeoutError'`.
            id: only turns of this message.
            limit: the maximum number of turns to return.
            after: the last turn of the previous page.

        Raises:
            InvalidCondition: the condition cannot be parsed, or uses a field that turns do not have.
            ConfigurationError: `id`, `limit` or `after` is not valid.
        """
        query = asked(self.name, where, id, limit, after)
        found = await self.database.run(lambda: self._store.history.find(query))
        return [event(one, self._payloads) for one in found]

    async def replay(
        self,
        id: int | None = None,
        *,
        where: str | Condition | None = None,
        limit: int | None = None,
        dry_run: bool = False,
    ) -> Replayed:
        """Push messages from the history again, as new messages with new ids and the header `replay-of`, due now.

        Each has the content, key, group and priority of the replayed turn; it is skipped if a live message has its key.
        Only a message's final turn (done, moved, dropped, dead) can be replayed, not a failed attempt. Turns that end
        in the meantime are ignored. The replay works in batches and starts with the turns that ended first.

        Args:
            id: the message whose latest final turn is replayed.
            where: all final turns that meet this condition, as for `history`.
            limit: the maximum number of turns to replay.
            dry_run: push nothing, only count.

        Raises:
            InvalidMessage: the message has no final turn in this queue's history.
            InvalidCondition: the condition cannot be parsed, or uses a field that turns do not have.
            ConfigurationError: not exactly one of id and where was given, or the id or the limit is not valid.
        """
        chosen = choice(self.name, id, where, limit)
        batch = await self.database.run(lambda: replay(self._store, chosen, None, dry_run))
        while batch.last is not None:
            batch = await self.database.run(lambda before=batch: replay(self._store, chosen, before, dry_run))  # type: ignore[misc]
        return batch.done
