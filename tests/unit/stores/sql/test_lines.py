"""What a process remembers of the lines of a queue."""

import time

import pytest

from duerow.stores.sql.priorities import COMMITTED_IN, Priorities


@pytest.mark.parametrize("paused", [True, False])
def test_a_look_that_began_before_a_pause_was_committed_does_not_undo_it(
    paused: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "monotonic", lambda: 100.0)
    lines = Priorities()
    lines.looked("mail", not paused, begun=99.0)
    assert lines.is_paused("mail") is not paused
    lines.paused("mail", paused)
    for begun in (99.0, 100.0):
        lines.looked("mail", not paused, begun)
        assert lines.is_paused("mail") is paused
    lines.looked("mail", not paused, 100.0 + COMMITTED_IN)
    assert lines.is_paused("mail") is not paused
