"""Statements are made once: a process that connects often does not pay for them each time."""

from __future__ import annotations

from pathlib import Path

import pytest

import duerow
from duerow.stores.sql.connections.compiled import Text
from duerow.where import payload


def test_a_second_connection_to_tables_of_the_same_names_compiles_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[object] = []
    make = Text.__init__
    monkeypatch.setattr(Text, "__init__", lambda text, *given: made.append(make(text, *given)))

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
    assert again == use("one.db", "first_") == 0


def test_conditions_that_differ_in_values_alone_are_compiled_once_and_each_finds_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[object] = []
    make = Text.__init__
    with duerow.connect(f"sqlite:///{tmp_path / 'queues.db'}", prefix="alike_", migrate=True) as database:
        queue = database.queue("mail")
        queue.push_many([duerow.Draft({"size": number, "box": f"b{number % 2}"}) for number in range(6)])

        def found(number: int, box: str, limit: int) -> list[int]:
            sizes = payload.size.in_([number, number + 1])
            records = queue.find(sizes & (payload.box == box), limit=limit)
            return [record.payload["size"] for record in records]

        assert found(0, "b0", 1) == [0]
        monkeypatch.setattr(Text, "__init__", lambda text, *given: made.append(make(text, *given)))
        assert [found(number, box, 5) for number in range(5) for box in ("b0", "b1")] == [
            *([0], [1], [2], [1], [2], [3], [4], [3], [4], [5])
        ]
        assert not made
        assert queue.find(payload.size > 3)
        assert made, "nothing that is compiled is counted, so this shows nothing"
