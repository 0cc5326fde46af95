"""Tasks in a database whose payloads are encrypted: arguments, results, errors, progress and batches are too."""

from __future__ import annotations

from datetime import timedelta

import pytest

import duerow
from duerow import Bury, TaskOutcome
from duerow.encryption import Encryption
from duerow.errors import TaskFailed
from duerow.testing.contents import everything

NOW = timedelta(0)
SECRET = "the secret"


def test_what_is_kept_of_tasks_is_encrypted_and_read_by_those_with_the_key() -> None:
    told: list[list[object]] = []
    with duerow.connect(
        "memory://", migrate=True, encryption=Encryption([Encryption.new_key()], refuse_clear_text=True)
    ) as db:
        tasks = duerow.Tasks(db, results=timedelta(hours=1))

        @tasks.task
        def echo(text: str) -> str:
            if text.endswith("no"):
                raise Bury(text)
            return text

        @tasks.callback
        def report(outcomes: list[TaskOutcome]) -> None:
            told.append([one.value for one in outcomes])

        batch = tasks.push_batch([echo.draft(SECRET), echo.draft(f"{SECRET} no")], report)
        tasks.worker().run("idle", signals=False)
        good, bad = batch.handles
        assert good.result(NOW) == SECRET
        assert good.state().arguments == {"text": SECRET}
        with pytest.raises(TaskFailed, match=SECRET):
            bad.result(NOW)
        assert told == [[SECRET, None]]
        assert SECRET not in str(everything(db))
