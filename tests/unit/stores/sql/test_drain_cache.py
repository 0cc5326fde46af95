"""A push asks whether its queue is being drained at most every half second, and always while it was found closed."""

from __future__ import annotations

from typing import Any

import pytest

from duerow.errors import QueueDraining
from duerow.plan import run
from duerow.store import Entry
from duerow.stores.sql import priorities
from duerow.stores.sql.dialects.postgresql.dialect import PostgreSQL
from duerow.stores.sql.plans.store import SqlStore

ENTRY = Entry("mail", None, "json", "1", None, None, None)


class Server:
    """Answers pushes of one message as a server would, and knows which of them asked."""

    def __init__(self) -> None:
        self.store = SqlStore(PostgreSQL(), "duerow_", None, None)
        self.draining = False
        self.asked: list[bool] = []

    def push(self) -> None:
        run(self.store.messages.push([ENTRY], "ignore"), self.answer)

    def answer(self, step: Any) -> Any:
        statements = self.store.context.statements
        if step.statement is statements.push.insert_one(frozenset(), True):
            self.asked.append(True)
            return [] if self.draining else [(1, None)]
        if step.statement is statements.push.insert_one(frozenset(), False):
            self.asked.append(False)
            return [(1, None)]
        return [("mail",)] if self.draining else []


def test_a_push_asks_once_in_half_a_second_and_always_while_the_queue_is_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [100.0]
    monkeypatch.setattr(priorities.time, "monotonic", lambda: now[0])
    server = Server()
    for later in (0.0, 0.2, 0.29, 0.02, 0.4):
        now[0] += later
        server.push()
    assert server.asked == [True, False, False, True, False]
    server.draining = True
    now[0] += 0.2
    for _ in range(2):
        with pytest.raises(QueueDraining):
            server.push()
    server.draining = False
    server.push()
    server.push()
    assert server.asked[5:] == [True, True, True, False]
