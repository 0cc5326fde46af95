"""A consumer that reserves, extends and settles by hand, in all ways, and sometimes lets its leases end."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from duerow import Draft, Queue
from duerow.errors import LeaseLost
from duerow.settlement import Settlement, decide
from duerow.sync.reservation import Reservation
from duerow.testing.torture.claims import Claims
from duerow.testing.torture.environment import DONE, OUT_OF_LUCK, Setting
from duerow.testing.torture.handler import ending
from duerow.testing.torture.ledger import Ledger, Line

IDLE = 0.02


class ByHand:
    """A consumer that does so.

    Args:
        setting: the settings of its process.
        queues: the queues from which it takes messages.
        claims: knows when claims began.
    """

    def __init__(self, setting: Setting, queues: dict[str, Queue[Any]], claims: Claims) -> None:
        self.setting, self.queues, self.chance, self.claims = setting, queues, setting.chance, claims
        self.ledger = Ledger(setting)
        self.ways: dict[Callable[[Queue[Any], list[Reservation[Any]]], None], int] = {
            self.settle_together: 4,
            self.settle_each: 4,
            self.end_in_a_transaction: 3,
            self.come_late: 1,
        }

    def go_on(self) -> None:
        """Reserve and settle again and again."""
        ways, weights = list(self.ways), list(self.ways.values())
        while True:
            queue = self.queues[self.chance.choice(sorted(self.queues))]
            try:
                lent = queue.reserve_many(self.chance.choice((1, 1, 3, 10)))
                self.ledger.ask(self._lines("begun", lent))
                if lent and self.chance.random() < 0.4:
                    lent = self.extend(queue, lent)
                if lent:
                    self.chance.choices(ways, weights)[0](queue, lent)
            except OUT_OF_LUCK:
                lent = []
            if not lent:
                time.sleep(IDLE)

    def extend(self, queue: Queue[Any], lent: list[Reservation[Any]]) -> list[Reservation[Any]]:
        """Extend leases; return the reservations whose leases were extended, which must hold."""
        time.sleep(self.chance.choice((0, 0.01, 0.3, 0.7)))
        span, began = timedelta(milliseconds=self.chance.choice((500, 2_000))), datetime.now(UTC)
        if self.chance.random() < 0.5:
            lost = {refused.receipt for refused in queue.extend_many(lent, span)}
            lent = [one for one in lent if one.receipt not in lost]
            until = began + span
        else:
            kept: list[Reservation[Any]] = []
            for one in lent:
                with contextlib.suppress(LeaseLost):
                    kept.append(one.extend(span))
            lent = kept
            until = min((one.until for one in kept), default=began)
        looked = [one for one in lent if one.message.key is None]  # a message with a key may have been replaced
        self.ledger.ask(self._lines("extended", looked))
        if datetime.now(UTC) < until and self.setting.times_agree:
            self.ledger.write(*self._lines("in time", looked))
        return lent

    def settle_together(self, queue: Queue[Any], lent: list[Reservation[Any]]) -> None:
        """End all turns in one call, each in a different way."""
        self.ledger.ask(self._lines("finished", lent))
        queue.settle([(one, self._settlement(queue, one)) for one in lent])

    def settle_each(self, queue: Queue[Any], lent: list[Reservation[Any]]) -> None:
        """End each turn with a separate method."""
        for one in lent:
            self.ledger.ask(self._lines("finished", [one]))
            with contextlib.suppress(LeaseLost):
                self._settle(one)

    def _settle(self, one: Reservation[Any]) -> None:
        draw = self.chance.random()
        if draw < 0.1:
            one.rollback(error="by hand")
        elif draw < 0.2:
            one.release()
        elif draw < 0.25:
            one.bury("by hand")
        elif draw < 0.6:
            one.move(DONE, key=None)
        else:
            one.commit(then=[Draft({"of": one.message.id}, queue=DONE)])

    def end_in_a_transaction(self, queue: Queue[Any], lent: list[Reservation[Any]]) -> None:
        """End each turn in one transaction with a line that says so."""
        for one in lent:
            try:
                with self.setting.transaction() as opened:
                    self.ledger.write(*self._lines("finished", [one]), within=opened)
                    self.ledger.write(*self._lines("ended", [one]), within=opened)
                    one.commit(within=opened)
            except LeaseLost:
                pass

    def come_late(self, queue: Queue[Any], lent: list[Reservation[Any]]) -> None:
        """Settle after the leases have ended: this succeeds for messages that nobody has taken since."""
        until = max(one.until for one in lent)
        time.sleep(max(0.0, (until - datetime.now(UTC)).total_seconds()) + self.chance.uniform(0, 0.1))
        self.settle_together(queue, lent)

    def _settlement(self, queue: Queue[Any], one: Reservation[Any]) -> Settlement:
        try:
            outcome = ending(one.message, self.chance)
        except Exception as error:
            outcome = error
        return decide(one.message, outcome, queue.retry)

    def _lines(self, what: str, lent: Sequence[Reservation[Any]]) -> list[Line]:
        return [self.ledger.turn(what, one.message, self.claims.since(one.message), "by hand") for one in lent]
