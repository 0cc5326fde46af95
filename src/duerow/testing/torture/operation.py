"""An operator: revives dead messages, changes waiting ones, removes, replays, reads, and pauses queues for a moment."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any

import duerow
from duerow import Message, Queue
from duerow.testing.torture.environment import BILLS, BILLS_DEAD, ORDERS, OUT_OF_LUCK, WORKED, Setting, queues
from duerow.testing.torture.ledger import Ledger, Line
from duerow.testing.torture.producer import GROUPS, LEASE

PAUSE = 0.02


def operate(setting: Setting, ready: Callable[[], None]) -> None:
    """Operate until killed."""
    with setting.open() as database:
        ready()
        Operator(setting, database).go_on()


class Operator:
    """An operator's process.

    Args:
        setting: the settings of the process.
        database: its handle.
    """

    def __init__(self, setting: Setting, database: duerow.Database) -> None:
        self.setting, self.database, self.chance = setting, database, setting.chance
        self.queues = queues(database, LEASE)
        self.ledger = Ledger(setting)
        self.works: dict[Callable[[Queue[Any]], None], int] = {
            self.requeue: 4,
            self.redrive: 3,
            self.reprioritise: 4,
            self.reschedule: 3,
            self.edit: 3,
            self.remove: 2,
            self.replay: 2,
            self.look: 2,
            self.maintain: 1,
            self.pause: 1,
        }

    def go_on(self) -> None:
        """Do one thing after another."""
        works, weights = list(self.works), list(self.works.values())
        while True:
            with suppress(*OUT_OF_LUCK):
                self.chance.choices(works, weights)[0](self.queues[self.chance.choice(WORKED)])
            time.sleep(PAUSE)

    def requeue(self, queue: Queue[Any]) -> None:
        """Let dead messages start again."""
        for message in self._some(queue.find(status="dead", limit=20)):
            act = self._reviving(queue, message)
            with self.setting.transaction() as opened:
                self.ledger.write(Line("attempted", act, queue.name), within=opened)
                if queue.requeue(where=f"id = {message.id} and status = 'dead'", within=opened):
                    self.ledger.write(self._line("revived", queue, message, act), within=opened)
            self.ledger.write(Line("over", act, queue.name))

    def redrive(self, queue: Queue[Any]) -> None:
        """Bring dead letters back, from their own queue or from the dead-letter queue."""
        away = queue.name == BILLS
        dead = self.database.queue(BILLS_DEAD).find(limit=20) if away else queue.find(status="dead", limit=20)
        for message in self._some(dead):
            act = self._reviving(queue, message)
            if queue.redrive(where=f"id = {message.id}").count:
                self.ledger.write(self._line("revived", queue, message, act))
            self.ledger.write(Line("over", act, queue.name))

    def reprioritise(self, queue: Queue[Any]) -> None:
        """Give a whole group, or some messages, another priority."""
        priority = self.chance.choice((0, 5, -3))
        if self.chance.random() < 0.5:
            queue.reprioritise(where=f"group = 'g-{self.chance.randrange(GROUPS)}'", priority=priority)
        else:
            for message in self._some(queue.peek(30)):
                self._changed(queue, message, lambda one, **how: queue.reprioritise(one, priority=priority, **how))

    def reschedule(self, queue: Queue[Any]) -> None:
        """Make messages due now or a little later."""
        delay = timedelta(milliseconds=self.chance.choice((0, 0, 100)))
        for message in self._some(queue.peek(30)):
            self._changed(queue, message, lambda one, **how: queue.reschedule(one, delay=delay, **how))

    def edit(self, queue: Queue[Any]) -> None:
        """Change payloads."""
        for message in self._some(queue.peek(30)):
            self._changed(queue, message, lambda one, **how: queue.edit(one, patch={"edited": True}, **how))

    def remove(self, queue: Queue[Any]) -> None:
        """Remove messages, dead and live."""
        dead = self.chance.random() < 0.5
        for message in self._some(queue.find(status="dead", limit=20) if dead else queue.peek(30))[:1]:
            even = self.chance.random() < 0.5
            with self.setting.transaction() as opened:
                self.ledger.write(Line("attempted", self.ledger.new_act(), queue.name), within=opened)
                if queue.remove(message.id, even_if_leased=even, within=opened):
                    self.ledger.write(self._line("removed", queue, message), within=opened)

    def replay(self, queue: Queue[Any]) -> None:
        """Push ended messages again."""
        orders = self.queues[ORDERS]
        ends = [turn for turn in orders.history(limit=20) if turn.outcome != "failed"]
        for turn in self._some(ends)[:2]:
            act = self.ledger.new_act()
            self.ledger.write(Line("pushing", act, ORDERS))
            again = orders.replay(turn.id)
            new = [Line("pushed", act, ORDERS, id, group=turn.group, note="replayed") for id in again.ids]
            self.ledger.write(*new, Line("over", act, ORDERS))

    def look(self, queue: Queue[Any]) -> None:
        """Read as people do."""
        queue.stats()
        queue.count(by="status")
        for message in self._some(queue.peek(10))[:1]:
            queue.why(message.id)

    def maintain(self, queue: Queue[Any]) -> None:
        """Do what workers do in the background."""
        self.database.maintain()

    def pause(self, queue: Queue[Any]) -> None:
        """Pause a queue for a moment; if this process is killed meanwhile, others resume the queue."""
        queue.pause()
        time.sleep(PAUSE)
        for each in self.queues.values():
            each.resume()

    def _changed(self, queue: Queue[Any], message: Message, change: Callable[..., Any]) -> None:
        """Change a message, sometimes even if it is leased: then a line in the same transaction says so."""
        if self.chance.random() < 0.7:
            change(message.id)
            return
        with self.setting.transaction() as opened:
            self.ledger.write(Line("attempted", self.ledger.new_act(), queue.name), within=opened)
            if change(message.id, even_if_leased=True, within=opened):
                self.ledger.write(self._line("changed", queue, message), within=opened)

    def _reviving(self, queue: Queue[Any], message: Message) -> str:
        act = self.ledger.new_act()
        self.ledger.write(self._line("reviving", queue, message, act))
        return act

    def _line(self, what: str, queue: Queue[Any], message: Message, act: str | None = None) -> Line:
        return Line(what, act, queue.name, message.id, message.token, message.group)

    def _some(self, found: Sequence[Any]) -> list[Any]:
        return self.chance.sample(list(found), min(3, len(found)))
