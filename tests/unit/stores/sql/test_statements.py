"""Statements are made once: a process that connects often does not pay for them each time."""

from __future__ import annotations

from pathlib import Path

import pytest

import duerow
from duerow.stores.sql.connections.compiled import Text


def test_a_second_connection_to_tables_of_the_same_names_compiles_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[object] = []
    make = Text.__init__
    monkeypatch.setattr(Text, "__init__", lambda text, statement, dialect: made.append(make(text, statement, dialect)))

    def use(file: str, prefix: str) -> int:
        made.clear()
        with duerow.connect(f"sqlite:///{tmp_path / file}", prefix=prefix) as database:
            queue = database.queue("mail")
            queue.push("hello")
            assert queue.pop() is not None
        return len(made)

    for file in ("one.db", "two.db"):
        for prefix in ("first_", "second_"):
            with duerow.connect(f"sqlite:///{tmp_path / file}", prefix=prefix, migrate=True):
                pass
    fresh = use("one.db", "first_")
    other = use("one.db", "second_")
    again = use("two.db", "first_")
    assert fresh > again, "nothing was compiled at first, so this shows nothing"
    assert other == fresh
    assert again == use("one.db", "first_"), "what is made for one use is all that is left"
