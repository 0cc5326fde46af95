"""Something else happens between two steps of a plan: races reached for certain, with no thread and no waiting."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from duerow.plan import Plan

T = TypeVar("T")


def interrupted(plan: Plan[T], before: Callable[[Any], bool], act: Callable[[], object]) -> Plan[T]:
    """The same plan, but for `act` being called before the first step of which `before` is true."""
    acted = False
    step = next(plan)
    while True:
        if not acted and before(step):
            acted = True
            act()
        try:
            answer = yield step
        except Exception as error:
            step = plan.throw(error)
            continue
        try:
            step = plan.send(answer)
        except StopIteration as finished:
            result: T = finished.value
            return result
