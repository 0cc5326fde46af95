"""What a process remembers of the priorities of a queue."""

import time

import pytest

from duerow.stores.sql.priorities import COMMITTED_IN, Priorities


@pytest.mark.parametrize("paused", [True, False])
def test_a_look_that_began_before_a_pause_was_committed_does_not_undo_it(
    paused: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "monotonic", lambda: 100.0)
    priorities = Priorities()
    priorities.looked("mail", not paused, begun=99.0)
    assert priorities.is_paused("mail") is not paused
    priorities.paused("mail", paused)
    for begun in (99.0, 100.0):
        priorities.looked("mail", not paused, begun)
        assert priorities.is_paused("mail") is paused
    priorities.looked("mail", not paused, 100.0 + COMMITTED_IN)
    assert priorities.is_paused("mail") is not paused
