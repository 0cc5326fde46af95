"""A consumer that takes messages out at most once."""

from __future__ import annotations

import time
from typing import Any

from duerow import Message, Queue
from duerow.testing.torture.access import Undone
from duerow.testing.torture.environment import OUT_OF_LUCK, WITH_HISTORY, WORKED, Setting
from duerow.testing.torture.ledger import POPPED, Ledger, Line

IDLE = 0.02


class Popper:
    """A consumer that takes messages out at most once.

    If it pops in its own transaction, the line that says so is part of that transaction. Otherwise it pops from a queue
    with a history.

    Args:
        setting: the settings of its process.
        queues: the queues from which it takes messages.
    """

    def __init__(self, setting: Setting, queues: dict[str, Queue[Any]]) -> None:
        self.setting, self.queues, self.chance = setting, queues, setting.chance
        self.ledger = Ledger(setting)

    def go_on(self) -> None:
        """Pop until killed."""
        while True:
            try:
                took = self._pop_within() if self.chance.random() < 0.6 else self._pop()
            except OUT_OF_LUCK:
                took = 0
            time.sleep(IDLE if took else 3 * IDLE)

    def _pop(self) -> int:
        queue = self.queues[self.chance.choice(sorted(WITH_HISTORY))]
        messages = queue.pop_many(self.chance.choice((1, 3)))
        self.ledger.write(*(self.ledger.turn("taken", one) for one in messages))
        return len(messages)

    def _pop_within(self) -> int:
        queue = self.queues[self.chance.choice(WORKED)]
        messages: list[Message] = []
        with self.setting.transaction() as opened:
            self.ledger.write(Line("attempted", self.ledger.new_act(), queue.name), within=opened)
            messages = queue.pop_many(self.chance.choice((1, 3)), within=opened)
            lines = [self.ledger.turn(what, one, note=POPPED) for one in messages for what in ("begun", "popped")]
            self.ledger.write(*lines, within=opened)
            if self.chance.random() < 0.1:
                raise Undone
        return len(messages)
