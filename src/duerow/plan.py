"""Run plans: the only module that hands a step to a database.

Logic that touches a database is written once, as a generator that yields steps and is sent their answers. Only the
store knows what a step is (a statement and its values, a MongoDB command, a function of the in-memory store). `run`
executes a plan with blocking calls, and `arun` with awaited calls.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterable, Iterator
from enum import Enum
from typing import Any, Final, TypeVar

T = TypeVar("T")

Plan = Generator[Any, Any, T]
"""Yields steps, is sent each step's answer, returns the overall result."""


class Transaction(Enum):
    """A step that begins a transaction: all later steps of the plan happen together or not at all."""

    BEGIN = "begin"


BEGIN: Final = Transaction.BEGIN
"""The first step of a plan of several steps. Inside a caller's own transaction it does nothing."""


class Several:
    """A step that consists of several steps in this order; its answer is the list of their answers.

    A connection with a method `at_once` sends the steps without waiting for answers, so that the database works on one
    step while the next is being made.

    Args:
        steps: the steps, made one by one as they are sent.
        slow: whether making a step may take milliseconds; if so, an event loop has it made in a thread.
        alone: whether the plan has no other steps, and no BEGIN: these then happen together or not at all.
    """

    __slots__ = ("alone", "slow", "steps")

    def __init__(self, steps: Iterable[Any], slow: bool = False, alone: bool = False) -> None:
        self.steps, self.slow, self.alone = iter(steps), slow, alone


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
                answer = execute(step) if type(step) is not Several else _each(step, execute)
            except Exception as error:
                step = plan.throw(error)
            else:
                step = plan.send(answer)
    except StopIteration as finished:
        result: T = finished.value
        return result


def _each(several: Several, execute: Execute) -> list[Any]:
    at_once: Callable[[Iterator[Any], bool], list[Any]] | None = getattr(execute, "at_once", None)
    if at_once is not None:
        return at_once(several.steps, several.alone)
    if several.alone:
        execute(BEGIN)
    return [execute(step) for step in several.steps]


def mapped(plan: Plan[T], change: Callable[[Any], Any]) -> Plan[T]:
    """Return a plan that is like another one, except that `change` is applied to each of its steps."""
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
                answer = await (execute(step) if type(step) is not Several else aeach(step, execute, step.slow))
            except Exception as error:
                step = plan.throw(error)
            else:
                step = plan.send(answer)
    except StopIteration as finished:
        result: T = finished.value
        return result


async def aeach(several: Several, execute: AsyncExecute, in_threads: bool) -> list[Any]:
    """Return the answers of several steps, each of which is made in a thread if requested."""
    made = _made(several.steps, in_threads)
    at_once: Callable[[AsyncIterator[Any], bool], Awaitable[list[Any]]] | None = getattr(execute, "at_once", None)
    if at_once is not None:
        return await at_once(made, several.alone)
    if several.alone:
        await execute(BEGIN)
    return [await execute(step) async for step in made]


async def _made(steps: Iterator[Any], in_threads: bool) -> AsyncIterator[Any]:
    while (step := await asyncio.to_thread(next, steps, None) if in_threads else next(steps, None)) is not None:
        yield step
