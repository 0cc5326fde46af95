"""A plan is fed the answers of its steps, by blocking and by awaited calls alike."""

import asyncio

import pytest

from duerow.plan import Several, arun, mapped, run
from duerow.store import (
    BulkStore,
    MessageStore,
    MetadataStore,
    OperationStore,
    PushesChunks,
    PushesKeyedChunks,
    SettlesAndReserves,
)
from duerow.testing.faults import PLANS


def carry_out(plan, execute, awaited):
    if not awaited:
        return run(plan, execute)

    async def later(step):
        await asyncio.sleep(0)
        return execute(step)

    return asyncio.run(arun(plan, later))


@pytest.fixture(params=[False, True], ids=["run", "arun"])
def do(request):
    return lambda plan, execute: carry_out(plan, execute, request.param)


def test_each_answer_is_sent_back_and_the_result_returned(do):
    def plan():
        first = yield 1
        second = yield first
        return [first, second]

    assert do(plan(), lambda step: step * 10) == [10, 100]


def test_a_plan_without_steps_is_only_its_result(do):
    def plan():
        return "done"
        yield

    def execute(step):
        raise AssertionError("no step was expected")

    assert do(plan(), execute) == "done"


def test_a_plan_may_be_part_of_another(do):
    def part(number):
        return (yield number) + 1

    def whole():
        first = yield from part(1)
        second = yield from part(2)
        return [first, second]

    assert do(whole(), lambda step: step) == [2, 3]


def test_the_steps_of_a_plan_can_be_changed_while_its_answers_and_errors_come_back_to_it(do):
    def plan():
        first = yield 1
        try:
            yield -1
        except ValueError as error:
            return [first, str(error)]

    def execute(step):
        if step < 0:
            raise ValueError(f"no {step}")
        return step

    assert do(mapped(plan(), lambda step: step * 10), execute) == [10, "no -10"]


def test_a_failing_step_is_raised_inside_the_plan_which_may_answer_it(do):
    def plan():
        try:
            yield "fails"
        except ZeroDivisionError:
            return (yield "instead")
        return None

    def execute(step):
        return 1 / 0 if step == "fails" else step

    assert do(plan(), execute) == "instead"


def test_a_failing_step_that_the_plan_does_not_answer_is_raised_as_it_is(do):
    closed = []

    def plan():
        try:
            yield "fails"
        finally:
            closed.append(True)

    def execute(step):
        raise ConnectionError("gone")

    with pytest.raises(ConnectionError, match="gone"):
        do(plan(), execute)
    assert closed == [True]


def test_what_a_plan_raises_by_itself_is_raised(do):
    def plan():
        yield 1
        raise LookupError("nothing there")

    with pytest.raises(LookupError, match="nothing there"):
        do(plan(), lambda step: step)


def test_an_awaited_plan_ends_when_it_is_cancelled():
    ended = []

    def plan():
        try:
            yield "waits"
        except asyncio.CancelledError:
            ended.append("thrown in")
            raise
        finally:
            ended.append("closed")

    async def execute(step):
        await asyncio.Event().wait()

    async def cancel():
        task = asyncio.create_task(arun(plan(), execute))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancel())
    assert ended[-1] == "closed"


def test_every_plan_at_which_faults_can_happen_is_one_of_the_contract() -> None:
    parts = {"messages": MessageStore, "operations": OperationStore, "metadata": MetadataStore, "bulk": BulkStore}
    assert parts.keys() == PLANS.keys()
    for name, plans in PLANS.items():
        optional = (PushesChunks, PushesKeyedChunks, SettlesAndReserves)
        assert {*dir(parts[name]), *(plan for one in optional for plan in dir(one))} >= plans


def test_each_of_several_steps_is_made_when_the_one_before_was_sent(do):
    seen = []

    def steps():
        for number in range(3):
            seen.append(f"made {number}")
            yield number

    def plan():
        return (yield Several(steps()))

    def execute(step):
        seen.append(f"sent {step}")
        return step * 10

    assert do(plan(), execute) == [0, 10, 20]
    assert seen == ["made 0", "sent 0", "made 1", "sent 1", "made 2", "sent 2"]


def test_what_is_raised_in_making_one_of_several_steps_comes_back_to_the_plan(do):
    def steps():
        yield 1
        raise ValueError("the second cannot be made")

    def plan():
        try:
            yield Several(steps())
        except ValueError as error:
            return str(error)

    assert do(plan(), lambda step: step) == "the second cannot be made"
