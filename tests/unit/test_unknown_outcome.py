"""A settlement whose answer was lost is never called a lost lease."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

import duerow
from duerow import StoreUnavailable
from duerow.plan import Plan
from duerow.store import Refused, Turn


def test_a_settlement_that_took_effect_after_the_second_look_is_of_unknown_outcome(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The first try breaks off; the row still carries our token when it is looked at; then that try is carried out."""
    with duerow.connect("memory://") as database:
        queue = database.queue("mail")
        queue.push("one")
        lent = queue.reserve()
        assert lent is not None
        settle = database.store.messages.settle
        tries: list[Sequence[Turn]] = []

        def late(turns: Sequence[Turn], keep: Any = None) -> Plan[Any]:
            tries.append(turns)
            if len(tries) == 1:
                raise StoreUnavailable("the connection broke", outcome="unknown")
            first: list[Refused] = yield from settle(tries[0])
            assert first == []
            return (yield from settle(turns))

        monkeypatch.setattr(database.store.messages, "settle", late)
        with pytest.raises(StoreUnavailable) as told:
            queue.commit(lent)
        assert told.value.outcome == "unknown"
        assert len(tries) == 2
        assert queue.count() == 0
