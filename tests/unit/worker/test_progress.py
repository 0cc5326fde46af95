"""What a handler may report as its progress."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from duerow.errors import ConfigurationError
from duerow.testing.clock import MovableClock
from duerow.worker.progress import KEPT, LONGEST, Progress, draft, said


@pytest.mark.parametrize("fraction", [0, 0.0, 0.5, 1, 1.0])
def test_progress_is_a_fraction_from_nothing_to_all(fraction: float) -> None:
    assert said(fraction, None, 2) == Progress(float(fraction), None, 2)


def test_progress_may_be_a_text_alone_of_which_the_beginning_is_kept() -> None:
    assert said(None, "page 4", 1) == Progress(None, "page 4", 1)
    assert said(0.5, "x" * (LONGEST + 1), 1) == Progress(0.5, "x" * LONGEST, 1)


@pytest.mark.parametrize(
    ("fraction", "text", "why"),
    [
        (None, None, "progress takes a fraction from 0 to 1, a text, or both"),
        (-0.1, None, "progress must be a fraction from 0 to 1, not -0.1"),
        (1.5, None, "progress must be a fraction from 0 to 1, not 1.5"),
        (float("nan"), None, "progress must be a fraction from 0 to 1, not nan"),
        (True, None, "progress must be a fraction from 0 to 1, not True"),
        ("half", None, "progress must be a fraction from 0 to 1, not 'half'"),
        (0.5, 4, "the text of progress must be a string, not int"),
    ],
)
def test_progress_that_says_nothing_or_something_else_is_refused(fraction: Any, text: Any, why: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        said(fraction, text, 1)
    assert str(refused.value) == why


def test_progress_is_kept_for_a_day() -> None:
    now = MovableClock().now()
    stored = draft(7, said(0.5, None, 1), now)
    assert stored.delay == KEPT == timedelta(days=1)
