"""Run plans: the only module that hands a step to a database.

Logic that touches a database is written once, as a generator that yields steps and is sent their answers. Only the
store knows what a step is (a statement and its values, a MongoDB command, a function of the in-memory store).
`run` runs a plan with blocking calls, `arun` with awaited ones.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from enum import Enum
from typing import Any, Final, TypeVar

T = TypeVar("T")

Plan = Generator[Any, Any, T]
"""Yields steps, is sent each step's answer, returns the overall result."""


class Transaction(Enum):
    """A step that begins a transaction: all later steps of the plan happen together or not at all."""

    BEGIN = "begin"


BEGIN: Final = Transaction.BEGIN
"""Yielded first by a plan of several steps. Inside a caller's own transaction it does nothing."""

Execute = Callable[[Any], Any]
"""Hands one step to the database and returns its answer."""

AsyncExecute = Callable[[Any], Awaitable[Any]]
"""Hands one step to the database and awaits its answer."""


def run(plan: Plan[T], execute: Execute) -> T:
    """Feed each step's answer back into the plan; return what the plan returns.

    A failing step is raised inside the plan first, so a plan can turn an error into an answer.
    """
    try:
        step = next(plan)
        while True:
            try:
                answer = execute(step)
            except Exception as error:
                step = plan.throw(error)
            else:
                step = plan.send(answer)
    except StopIteration as finished:
        result: T = finished.value
        return result


def mapped(plan: Plan[T], change: Callable[[Any], Any]) -> Plan[T]:
    """Return a plan whose steps are what `change` makes of the steps of another plan, and all else is the same."""
    try:
        step = next(plan)
        while True:
            try:
                answer = yield change(step)
            except Exception as error:
                step = plan.throw(error)
            else:
                step = plan.send(answer)
    except StopIteration as finished:
        result: T = finished.value
        return result


async def arun(plan: Plan[T], execute: AsyncExecute) -> T:
    """Feed each step's answer back into the plan; return what the plan returns.

    A failing step is raised inside the plan first, so a plan can turn an error into an answer.
    """
    try:
        step = next(plan)
        while True:
            try:
                answer = await execute(step)
            except Exception as error:
                step = plan.throw(error)
            else:
                step = plan.send(answer)
    except StopIteration as finished:
        result: T = finished.value
        return result
