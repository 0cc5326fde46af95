"""A producer: pushes one or many messages, with keys in every mode, in groups, delayed, and within transactions."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

import duerow
from duerow import Draft, Pushed, Queue
from duerow.message import OnDuplicate
from duerow.testing.torture.environment import OUT_OF_LUCK, WORKED, Setting, declare, queues
from duerow.testing.torture.ledger import Ledger, Line
from duerow.testing.torture.pipelines import RecordSender
from duerow.testing.torture.rows import RowInserter
from duerow.testing.torture.workload import allowed

GROUPS, KEYS = 10, 60
ENOUGH = 250
"""The number of waiting messages from which producers pause."""

PAUSE = 0.03
LEASE = timedelta(seconds=1)


def produce(setting: Setting, ready: Callable[[], None]) -> None:
    """Push until killed."""
    with setting.open() as database:
        declare(database)
        ready()
        Producer(setting, database).go_on()


class Producer:
    """A process that pushes.

    Args:
        setting: the settings of the process.
        database: the database to whose queues it pushes.
    """

    def __init__(self, setting: Setting, database: duerow.Database) -> None:
        self.setting, self.queues, self.chance = setting, queues(database, LEASE), setting.chance
        self.ledger = Ledger(setting)
        self.ways: dict[Callable[[], None], int] = {
            self.push: 4,
            self.push_many: 3,
            self.push_keyed: 3,
            self.push_with_a_row: 3,
            self.push_in_transactions_that_overlap: 2,
            **RecordSender(setting, database, self.ledger).ways,
        }
        if setting.access.has_items:
            self.ways |= RowInserter(setting, self.ledger).ways
        self.ways = allowed(self.ways, setting.only)

    def go_on(self) -> None:
        """Push again and again."""
        ways, weights = list(self.ways), list(self.ways.values())
        while True:
            try:
                if self.setting.access.waiting(WORKED) >= ENOUGH:
                    time.sleep(PAUSE)
                else:
                    self.chance.choices(ways, weights)[0]()
            except OUT_OF_LUCK:  # only the ledger may know what happened
                time.sleep(PAUSE)

    def leave(self, least: int) -> None:
        """Push at least this many messages, and reserve some as consumers do that then die."""
        while self.setting.access.waiting(WORKED) < least:
            self.push_many()
        for queue in self.queues.values():
            queue.reserve()

    def push(self) -> None:
        """Push one message."""
        self._outside(1)

    def push_many(self) -> None:
        """Push several messages, some of the same group."""
        self._outside(self.chance.randrange(2, 20))

    def push_keyed(self) -> None:
        """Push messages with keys that others use too, in each mode."""
        modes: Sequence[OnDuplicate] = ("ignore", "replace", "earliest", "reject")
        self._outside(self.chance.choice((1, 1, 5)), self.chance.choice(modes), keyed=True)

    def push_with_a_row(self) -> None:
        """Push messages together with a line of the ledger, both or neither; sometimes roll back."""
        act, queue = self.ledger.new_act(within=True), self._any_queue()
        drafts = self._drafts(act, self.chance.choice((1, 3)), keyed=self.chance.random() < 0.3)
        with self.ledger.transaction(act, queue.name) as opened:
            self.ledger.write(Line("attempted", act, queue.name), within=opened)  # SQLite locks at the first write
            self._push_within(queue, drafts, act, opened)
            time.sleep(self.chance.choice((0, 0, 0.03)))

    def push_in_transactions_that_overlap(self) -> None:
        """Push twice into one group; if the database allows both transactions to be open, the first commits last."""
        if self.setting.access.is_file:
            return self.push_with_a_row()
        early, late = (self.ledger.new_act(within=True) for _ in range(2))
        queue, group = self._any_queue(), self._any_group()
        self.ledger.write(Line("pushing", early, queue.name), Line("pushing", late, queue.name))
        with self.setting.transaction() as first:
            self._push_within(queue, self._drafts(early, 1, group=group), early, first)
            with self.setting.transaction() as second:
                self._push_within(queue, self._drafts(late, 2, group=group), late, second)
            self.ledger.write(Line("over", late, queue.name))
            time.sleep(self.chance.uniform(0, 0.1))
        self.ledger.write(Line("over", early, queue.name))
        return None

    def _outside(self, count: int, mode: OnDuplicate = "ignore", keyed: bool = False) -> None:
        act, queue = self.ledger.new_act(), self._any_queue()
        drafts = self._drafts(act, count, keyed)
        self.ledger.write(Line("pushing", act, queue.name))
        if count == 1:
            draft = drafts[0]
            pushed = [
                queue.push(
                    draft.payload,
                    key=draft.key,
                    delay=draft.delay,
                    group=draft.group,
                    priority=draft.priority,
                    on_duplicate=mode,
                )
            ]
        else:
            pushed = queue.push_many(drafts, on_duplicate=mode)
        self.ledger.write(*self._pushed(queue, act, drafts, pushed), Line("over", act, queue.name))

    def _push_within(self, queue: Queue[Any], drafts: Sequence[Draft], act: str, opened: Any) -> None:
        pushed = queue.push_many(drafts, within=opened)
        self.ledger.write(*self._pushed(queue, act, drafts, pushed), within=opened)

    def _pushed(self, queue: Queue[Any], act: str, drafts: Sequence[Draft], pushed: Sequence[Pushed]) -> list[Line]:
        return [
            Line("pushed", act, queue.name, one.id, group=draft.group, note=one.outcome)
            for draft, one in zip(drafts, pushed, strict=True)
            if one.outcome != "ignored"
        ]

    def _drafts(self, act: str, count: int, keyed: bool = False, group: str | None = None) -> list[Draft]:
        return [self._draft({"act": act, "n": n}, keyed, group) for n in range(count)]

    def _draft(self, payload: Any, keyed: bool, group: str | None) -> Draft:
        chance, key = self.chance, None
        if keyed:  # a key always has the same group, so that a replaced message stays in its group
            number = chance.randrange(KEYS)
            key, group = f"k-{number}", f"g-{number % GROUPS}" if number % 2 else None
        elif group is None and chance.random() < 0.6:
            group = self._any_group()
        delay = timedelta(milliseconds=chance.choice((0, 0, 0, 0, 100, 300)))
        return Draft(payload, key=key, group=group, priority=chance.choice((0, 0, 0, 0, 5, -3)), delay=delay)

    def _any_queue(self) -> Queue[Any]:
        return self.queues[self.chance.choice(WORKED)]

    def _any_group(self) -> str:
        return f"g-{self.chance.randrange(GROUPS)}"
