"""Replay in chunks whose ends are known before anything is pushed, so that an interrupted chunk can be left out."""

from __future__ import annotations

import msgspec

from duerow.plan import BEGIN, Plan
from duerow.queue.history import REPLAY_BATCH, ReplayChoice, Replayed, latest_end, pushed_again
from duerow.store import HistoryQuery, PlaceInHistory, Store


class ReplayChunk(msgspec.Struct, frozen=True):
    """Some of the turns of a replay, next to each other in the order in which they ended.

    Attributes:
        first, last: the positions of its first and last turns.
        number: how many turns there were.
        until: the latest turn that the whole replay covers.
    """

    first: PlaceInHistory
    last: PlaceInHistory
    number: int
    until: PlaceInHistory


def next_chunk(store: Store, choice: ReplayChoice, before: ReplayChunk | None) -> Plan[ReplayChunk | None]:
    """Return the chunk after another one, or the first; None: all have been replayed."""
    until = before.until if before is not None else (yield from latest_end(store, choice))
    if until is None:
        return None
    ends = yield from store.history.find(_turns(choice, None if before is None else before.last, until, REPLAY_BATCH))
    return ReplayChunk(ends[0].place, ends[-1].place, len(ends), until) if ends else None


def replay_chunk(
    store: Store, choice: ReplayChoice, before: PlaceInHistory | None, chunk: ReplayChunk
) -> Plan[Replayed]:
    """Push the messages of a chunk again, starting after the position `before`; read and pushed in one transaction.

    Turns that were written between the others in the meantime are left out if there are many.
    """
    if store.capabilities.together:
        yield BEGIN
    ends = yield from store.history.find(_turns(choice, before, chunk.last, 2 * chunk.number))
    return (yield from pushed_again(store, ends, False))


def _turns(choice: ReplayChoice, after: PlaceInHistory | None, until: PlaceInHistory, limit: int) -> HistoryQuery:
    return HistoryQuery(
        choice.queue, ends=True, where=choice.where, oldest_first=True, after=after, until=until, limit=limit
    )
