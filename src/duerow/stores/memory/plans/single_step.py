"""Plans with a single step."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TypeVar

from duerow.plan import Plan
from duerow.stores.memory.state import State

T = TypeVar("T")


def alone(step: Callable[[State, datetime], T]) -> Plan[T]:
    """Return a plan with one step, which is atomic."""
    answer: T = yield step
    return answer
