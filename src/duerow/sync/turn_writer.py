# Generated from ../aio/turn_writer.py by tools/generate_sync.py; edit that file instead.
"""Write how turns end: together, separately if the database refuses one, and again if its answer was lost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from duerow.errors import Conflict, DuerowError, LeaseLost, StoreUnavailable
from duerow.plan import BEGIN, Plan
from duerow.queue import refusals
from duerow.reservation import Receipt
from duerow.store import Query, Refused, Reserved, Turn
from duerow.sync.handle import QueueHandle


class TurnWriter:
    """Writes the ends of turns of one queue.

    Args:
        queue: the queue of the messages.
    """

    def __init__(self, queue: QueueHandle[Any]) -> None:
        self._database, self._store = queue.database, queue._store
        self._name, self._keeping = queue.name, queue.keeping

    def write(self, turns: list[Turn], within: Any) -> list[Refused]:
        """End turns; if the database refuses one of them, end the others in transactions of their own."""
        try:
            return self._together(turns, within)
        except DuerowError as error:
            if within is not None or not error.of_row:
                raise
        return refusals.in_order(self._apart(turns), turns)

    def write_and_claim(
        self, turns: list[Turn], claim: Callable[..., Plan[tuple[list[Refused], Reserved] | None]]
    ) -> tuple[list[Refused], Reserved | None]:
        """End turns and claim in one go if that works; otherwise only end the turns, and return None as the claim.

        Args:
            turns: the turns.
            claim: SettlesAndReserves.settle_and_reserve with all arguments but the turns.
        """
        if not self._counts_due():
            try:
                done = self._database.run(lambda: claim(turns), None, len(turns))
            except StoreUnavailable as broken:
                if not isinstance(broken, Conflict):
                    return self._again(turns, broken), None
            except DuerowError:
                pass  # nothing was changed, and the claim may be at fault
            else:
                if done is not None:
                    return done
        return self.write(turns, None), None

    def _apart(self, turns: list[Turn]) -> list[Refused]:
        """Settle without writing counts; halve a refused batch until the turn at fault is alone."""
        try:
            return self._once(turns, None)
        except DuerowError as error:
            if not error.of_row:
                raise
            if len(turns) == 1:
                return [refusals.of_one(turns[0], error)]
        first, second = refusals.halves(turns)
        return self._apart(first) + self._apart(second)

    def _once(self, turns: list[Turn], within: Any) -> list[Refused]:
        return self._database.run(lambda: self._store.messages.settle(turns, self._keeping), within, len(turns))

    def _together(self, turns: list[Turn], within: Any) -> list[Refused]:
        try:
            if within is None and self._counts_due():
                return self._with_counts(turns)
            return self._once(turns, within)
        except StoreUnavailable as broken:
            if within is not None or isinstance(broken, Conflict):
                raise
            return self._again(turns, broken)

    def _counts_due(self) -> bool:
        can = self._store.capabilities
        return self._database.metrics.due() and can.together and "counters" in can.parts

    def _with_counts(self, turns: list[Turn]) -> list[Refused]:
        """Settle, and write the counts gathered so far in the same transaction: one commit for both."""
        metrics = self._database.metrics

        def settle() -> Plan[list[Refused]]:
            yield BEGIN
            refused = yield from self._store.messages.settle(turns, self._keeping)
            if rows:
                yield from self._store.counters.note_counts(metrics.process, rows)
            return refused

        with metrics.writing() as rows:
            return self._database.run(settle)

    def _again(self, turns: list[Turn], broken: StoreUnavailable) -> list[Refused]:
        """Settle again after a lost answer: turns that still have our token were not settled; the rest are unknown."""
        query = Query(self._name, ids=tuple(turn.receipt.id for turn in turns), by_id=True, limit=len(turns))
        try:
            records = self._database.run(lambda: self._store.messages.find(query))
        except StoreUnavailable:
            raise broken from broken.__cause__
        kept = {Receipt(record.id, record.token) for record in records}
        ours = [turn for turn in turns if turn.receipt in kept]
        refused = self._database.run(lambda: self._store.messages.settle(ours, self._keeping)) if ours else []
        # If a lease is lost only now, the first try did take effect, between the query and the second try.
        lost = {one.receipt for one in refused if isinstance(one.error, LeaseLost)}
        unsure = [str(turn.receipt.id) for turn in turns if turn.receipt not in kept or turn.receipt in lost]
        if unsure:
            raise StoreUnavailable(
                f"the connection broke while messages {', '.join(unsure[:20])} of queue {self._name!r} were being "
                "settled; they are no longer ours, so they were probably settled",
                outcome="unknown",
            ) from broken
        return refused
