"""Write, read and delete finished turns and remembered keys."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from duerow.clock import EPOCH
from duerow.plan import BEGIN, Plan
from duerow.store import Buried, Committed, End, HistoryQuery, HistoryRow, Moved, Released, Retention, RolledBack, Turn
from duerow.store.retention import NOTED_FOR, STAGED_FOR
from duerow.stores.sql.plans.context import Plans
from duerow.stores.sql.statements import RECEIPT, STORY

Place = tuple[str, str | None]
"""A queue and a key in it."""


class HistoryPlans(Plans):
    """Plans for history and remembered keys, and the parts of other plans that write them."""

    def find(self, query: HistoryQuery) -> Plan[list[HistoryRow]]:
        """Read finished turns; see History.find."""
        rows = yield self.context.step(
            self.context.statements.history.history_rows(query), {"queue_in": query.queue, "limit_in": query.limit}
        )
        return [self.past(row) for row in rows]

    def prune(self, limit: int) -> Plan[int]:
        """Delete expired rows; see HistoryStore.prune. If nothing has expired, this takes four index lookups."""
        context = self.context
        yield BEGIN
        statements, gone = context.statements, 0
        for expired, forget, columns in (
            (statements.history.expired_turns, statements.history.forget_turns, RECEIPT),
            (statements.history.expired_keys, statements.history.forget_keys, ("queue", "key")),
        ):
            for chunk in context.chunks((yield context.step(expired, {"limit_in": limit}))):
                gone += len((yield context.given(forget, columns, sorted(map(tuple, chunk)))))
        return gone + (yield from self._prune_batches(limit))

    def _prune_batches(self, limit: int) -> Plan[int]:
        """Delete entries that were staged but never published, and names that were noted long ago."""
        context = self.context
        statements = context.statements
        span = {"span": context.dialect.write_span(-STAGED_FOR)}
        old, gone = [], 0
        for id, entries in (yield context.step(statements.stage.old_stagings, {"limit_in": limit, **span})):
            if gone < limit:  # a staging may have many entries
                old.append(id)
                gone += entries
        yield from self.forget_stagings(old)
        span = {"span": context.dialect.write_span(-NOTED_FOR)}
        for chunk in context.chunks((yield context.step(statements.stage.old_notes, {"limit_in": limit, **span}))):
            gone += len((yield context.given(statements.stage.forget_notes, ("name",), sorted(map(tuple, chunk)))))
        return gone

    def forget_stagings(self, ids: Sequence[int]) -> Plan[None]:
        """Delete the entries that were staged under these numbers."""
        context = self.context
        for chunk in context.chunks(sorted(ids)):
            yield context.given(context.statements.stage.forget_staged, ("staging_id",), [(id,) for id in chunk])
            yield context.given(context.statements.stage.forget_stagings, ("id",), [(id,) for id in chunk])

    # Written when a turn ends.

    def keep(self, turns: Sequence[Turn], keep: Retention) -> Plan[None]:
        """Write turns that are about to end, and remember the keys of messages that leave the queue or are buried."""
        context = self.context
        statements = context.statements
        turns = [turn for turn in turns if not isinstance(turn.end, Released)]
        if keep.history is not None and turns:
            told = [(turn.receipt.id, turn.receipt.token, *_story(turn.end)) for turn in turns]
            headers = [_headers(turn.end) for turn in turns]
            parts = [(*row, text) for row, text in zip(told, headers, strict=True) if text is not None]
            others = [row for row, text in zip(told, headers, strict=True) if text is None]
            more = {"history": context.dialect.write_span(keep.history)}
            if others:
                yield context.given(statements.history.keep_turns, (*RECEIPT, *STORY), others, more)
            if parts:
                yield context.given(statements.history.keep_parts, (*RECEIPT, *STORY, "headers"), parts, more)
        ended = [
            (turn.receipt.id, turn.receipt.token) for turn in turns if not isinstance(turn.end, RolledBack | Released)
        ]
        if keep.keys is not None and ended:
            yield context.given(statements.history.remember_ended, RECEIPT, ended, self._keys(keep.keys))

    def keep_lapsed(
        self, ids: Sequence[int], history: timedelta, attempts: int | None, buries: bool = False, to: str | None = None
    ) -> Plan[None]:
        """Write the turns of picked rows whose lease expired."""
        context = self.context
        more = {"history": context.dialect.write_span(history), "attempts_in": attempts}
        if buries:
            more["to_in"] = to
        yield context.given(context.statements.history.keep_lapsed(buries), ("id",), [(id,) for id in ids], more)

    def keep_popped(self, ids: Sequence[int], history: timedelta) -> Plan[None]:
        """Write the turns of picked rows that are popped, and of their expired leases."""
        context = self.context
        yield from self.keep_lapsed(ids, history, None)
        more = {"history": context.dialect.write_span(history)}
        yield context.given(context.statements.history.keep_popped, ("id",), [(id,) for id in ids], more)

    def remember(self, left: Sequence[tuple[str, str | None, int]], keep: Retention | None) -> Plan[None]:
        """Remember the keys of messages that have left; for equal keys, the message with the highest id counts."""
        context = self.context
        if keep is None or keep.keys is None:
            return
        ids = {(queue, key): id for queue, key, id in sorted(left, key=_id) if key is not None}
        for chunk in context.chunks(sorted(ids)):
            rows = [(*place, ids[place]) for place in chunk]
            yield context.given(
                context.statements.history.remember, ("queue", "key", "id"), rows, self._keys(keep.keys)
            )

    # Read by pushes.

    def remembered_since(self, new: Sequence[tuple[str, str | None, int]]) -> Plan[dict[Place, int]]:
        """Return the former holders of the remembered keys of new messages; hold the other keys."""
        context = self.context
        found: dict[Place, int] = {}
        over = {"over": context.dialect.write_moment(EPOCH)}
        for rows in context.chunks(sorted(new, key=_place)):
            free = {
                (row[0], row[1])
                for row in (yield context.given(context.statements.history.hold_remembered, _KEYED, rows, over))
            }
            known = [row[:2] for row in rows if row[:2] not in free]
            if known:  # they are locked too, because the statement would have changed them
                for queue, key, id, _ in (
                    yield context.given(context.statements.history.remembered, _KEYED[:2], known)
                ):
                    found[queue, key] = id
        return found

    def remembered(self, places: Sequence[Place]) -> Plan[dict[Place, int]]:
        """Return the former holders of those keys that are remembered now."""
        context = self.context
        found: dict[Place, int] = {}
        for chunk in context.chunks(places):
            for queue, key, id, is_so in (
                yield context.given(context.statements.history.remembered, _KEYED[:2], chunk)
            ):
                if is_so:
                    found[queue, key] = id
        return found

    def _keys(self, keys: timedelta) -> dict[str, Any]:
        return {"keys": self.context.dialect.write_span(keys)}

    def past(self, row: Sequence[Any]) -> HistoryRow:
        """Return a row of PAST as a turn."""
        read: Any = self.context.dialect.read_moment
        before, moments, after = row[:12], row[12:17], row[17:]
        return HistoryRow(*before, *map(read, moments), *after)


_KEYED = ("queue", "key", "id")


def _headers(end: End) -> str | None:
    """Return the headers that history records for an end; None: the message's own."""
    return end.headers if isinstance(end, Committed) else None


def _story(end: End) -> tuple[str | None, ...]:
    """Return what history records about an end: the values of STORY."""
    match end:
        case Committed():
            return ("dropped" if end.dropped else "done", end.moved_to, end.kind, end.payload, end.why)
        case Moved():
            return ("dead" if end.dead else "moved", end.to, None, None, end.error)
        case Buried(error):
            return ("dead", None, None, None, error)
        case RolledBack(_, error):
            return ("failed", None, None, None, error)
    raise AssertionError(f"{end!r} is kept in no history")


def _id(row: tuple[str, str | None, int]) -> int:
    return row[2]


def _place(row: tuple[str, str | None, int]) -> tuple[str, str]:
    return row[0], row[1] or ""
