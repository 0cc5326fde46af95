"""What a look at idle queues costs."""

from __future__ import annotations

from collections.abc import Generator
from datetime import timedelta
from pathlib import Path
from typing import Any

import duerow

SLEEP = timedelta(seconds=5)


def test_a_look_that_is_relied_on_takes_as_many_statements_for_ten_queues_as_for_one(tmp_path: Path) -> None:
    with duerow.connect(f"sqlite:///{tmp_path / 'mail.db'}", migrate=True) as database:
        names = [f"mail-{number}" for number in range(10)]

        def statements(*queues: str) -> int:
            asked: list[Any] = []
            database.run(lambda: _noted(database.store.messages.next_due(queues, SLEEP, relied_on=True), asked))
            return len(asked)

        assert statements(names[0]) == statements(*names) == 2
        for number, name in enumerate(names):
            database.queue(name).push(number, priority=number)
        assert statements(*names) == 2


def _noted(plan: Generator[Any, Any, Any], steps: list[Any]) -> Generator[Any, Any, Any]:
    """Note each step of a plan."""
    answer = None
    while True:
        try:
            step = plan.send(answer)
        except StopIteration as stop:
            return stop.value
        steps.append(step)
        answer = yield step
