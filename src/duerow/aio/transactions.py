"""The handlers of a worker that write in the transaction that ends their message's turn."""

from __future__ import annotations

from time import monotonic
from typing import Any

from duerow.aio.worker_tasks import Handlers
from duerow.errors import LeaseLost, StoreUnavailable
from duerow.settlement import LEFT, Release, Settlement
from duerow.store import AsyncOwnTransaction
from duerow.worker.attempt import CURRENT, Attempt
from duerow.worker.in_flight import Slot
from duerow.worker.outage import Backoff
from duerow.worker.transaction import committed_by_hand, keeps, rolled_back_by_hand


class TransactionalHandlers(Handlers):
    """Like `Handlers`, but a turn that ends well is settled in the handler's own transaction."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._outage = Backoff()

    async def _handle(self, slot: Slot, attempt: Attempt) -> Settlement | None:
        """Call the handler; return how the turn ends unless it was settled together with the handler's writes."""
        slot.prepare(attempt)
        CURRENT.set(attempt)
        try:
            own = await self._queue.database.connections.begin()
        except StoreUnavailable as error:
            return await self._give_back(slot, error)
        try:
            return await self._handle_within(own, slot, attempt)
        finally:
            await own.roll_back()  # does nothing if it has ended; a cancelled handler leaves it open

    async def _handle_within(self, own: AsyncOwnTransaction, slot: Slot, attempt: Attempt) -> Settlement | None:
        if self._outage.failing:
            self._outage.reset()
            self._run.journal.available("begin a transaction on")
        if slot.abandoned:  # it waited until the worker's time was up
            return None
        slot.begin(attempt)
        outcome = await self._call_handler(slot, attempt.message, own.connection)
        attempt.seconds = monotonic() - slot.started
        self._in_flight.prefetch.note(attempt.seconds)
        if not slot.end():
            return None
        settlement = self._run.conclude(attempt, await self._checked(own, attempt, outcome))
        return await self._settle_within(own, attempt, settlement) if keeps(settlement) else settlement

    async def _give_back(self, slot: Slot, error: StoreUnavailable) -> Settlement | None:
        """No transaction could be started: release the message, since its handler has not begun."""
        seconds = self._outage.next()
        self._run.journal.unavailable("begin a transaction on", error, seconds)
        await self._pause(seconds)
        return Release() if slot.end() else None

    async def _checked(self, own: AsyncOwnTransaction, attempt: Attempt, outcome: Any) -> Any:
        """Return the outcome, or the error if the handler left its transaction in a wrong state."""
        failed = isinstance(outcome, BaseException)
        try:
            state = await own.look()
        except Exception as error:  # the connection broke, or the handler ignored a database error
            return outcome if failed else error
        if state == "committed":
            return committed_by_hand(attempt.message)
        return rolled_back_by_hand(attempt.message) if state == "rolled back" and not failed else outcome

    async def _settle_within(
        self, own: AsyncOwnTransaction, attempt: Attempt, settlement: Settlement
    ) -> Settlement | None:
        """End the turn in the handler's transaction; if that is impossible, return how it ends instead."""
        try:
            refused = await self._queue.settle([(attempt.reservation, settlement)], within=own.connection)
            if refused:
                raise refused[0].error
        except LeaseLost as error:
            if not self._queue.locked_while_handled:
                await own.roll_back()
                self._tell_freed(self._settler.lost(attempt, error))
                return None
            settlement = LEFT  # the handler itself has changed the row, and its change stands
        except Exception as error:
            return self._run.conclude(attempt, error)
        try:
            await own.commit()
        except Exception as error:
            if not isinstance(error, StoreUnavailable) or error.outcome == "none":
                return self._run.conclude(attempt, error)
            self._find_out(attempt, error)
            return None
        self._tell_freed(self._settler.committed(attempt, settlement))
        return None
