"""Tasks are functions that workers call; their results are kept, and they can be cancelled."""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import Any

import pytest

import duerow.aio.task_handle
import duerow.sync.task_handle
from duerow import Bury, Database, Retry, TaskOutcome
from duerow.errors import ConfigurationError, NotSupported, ResultMissing, TaskCancelled, TaskFailed, TimedOut
from duerow.sync.tasks import Tasks
from duerow.tasks import outcome
from duerow.testing.clock import MovableClock, hours, minutes, seconds
from duerow.testing.conformance.fixtures import OpenDatabase, Place
from duerow.testing.contents import everything
from duerow.testing.faces import Face, another, tasks_of
from duerow.testing.worker_harness import PATIENCE, Gate

NOW = timedelta(0)

MODULES = {"sync": duerow.sync.task_handle, "async": duerow.aio.task_handle}


def work(tasks: Tasks) -> None:
    """Run the calls that are due."""
    tasks.worker().run("idle", signals=False)


def test_a_task_is_run_with_its_arguments_and_its_result_is_kept(tasks: Tasks, clock: MovableClock) -> None:
    @tasks.task
    def add(a: int, b: int = 2) -> int:
        return a + b

    @tasks.task(queue="mail")
    async def shout(text: str) -> str:
        return text.upper()

    sum_, loud = add.push(1), shout.push(text="hi")
    assert (sum_.status(), loud.status()) == ("waiting", "waiting")
    with pytest.raises(TimedOut):
        sum_.result(NOW)
    clock.advance(seconds(1))
    work(tasks)
    assert (sum_.result(NOW), loud.result(NOW)) == (3, "HI")
    state = sum_.state()
    assert (state.status, state.attempts, state.arguments) == ("done", 1, {"a": 1})
    assert (state.created_at, state.started_at) == (clock.now() - seconds(1), clock.now())
    assert add.handle(sum_.id).result(NOW) == 3


def test_a_result_is_kept_for_its_time_and_then_removed(tasks: Tasks, db: Database, clock: MovableClock) -> None:
    @tasks.task
    def add(a: int, b: int) -> int:
        return a + b

    kept = add.push(1, b=2)
    work(tasks)
    clock.advance(hours(1) - seconds(1))
    assert db.prune() == 0
    assert kept.result(NOW) == 3
    clock.advance(seconds(1))
    assert db.prune() == 1
    assert everything(db) == []
    with pytest.raises(ResultMissing):
        kept.result(NOW)


def test_a_task_that_is_given_up_raises_its_error_and_is_a_dead_letter(tasks: Tasks, db: Database) -> None:
    @tasks.task(queue="mail")
    def refuse(number: int) -> None:
        raise ValueError(f"no {number}")

    failed = refuse.push(5)
    work(tasks)
    with pytest.raises(TaskFailed, match="ValueError: no 5") as raised:
        failed.result(NOW)
    assert raised.value.failure.type == "ValueError"
    state = failed.state()
    assert (state.status, state.attempts, state.arguments) == ("failed", 2, {"number": 5})
    mail = db.queue("mail")
    assert mail.redrive().count == 1
    assert failed.status() == "waiting"
    work(tasks)
    assert failed.status() == "failed"
    mail.remove(failed.id)
    if db.store.capabilities.transactions:  # it is kept beside the dead letter too
        assert failed.status() == "failed"


def test_a_task_may_end_its_turn_as_any_handler(tasks: Tasks, db: Database) -> None:
    ran: list[str] = []

    @tasks.task
    def choose(way: str) -> Any:
        ran.append(way)
        if way == "again" and ran.count(way) == 1:
            raise Retry(NOW)
        return Bury("enough") if way == "bury" else way

    again, buried = choose.push("again"), choose.push("bury")
    work(tasks)
    assert again.result(NOW) == "again"
    with pytest.raises(TaskFailed, match="enough"):
        buried.result(NOW)
    assert sorted(ran) == ["again", "again", "bury"]


def test_a_task_that_waits_is_cancelled_and_never_runs(tasks: Tasks) -> None:
    ran: list[int] = []

    @tasks.task
    def note(number: int) -> None:
        ran.append(number)

    waiting, done = note.after(minutes(1)).push(1), note.push(2)
    work(tasks)
    assert (waiting.cancel(), done.cancel()) == (True, False)
    assert (waiting.cancel(), done.result(NOW)) == (False, None)
    with pytest.raises((TaskCancelled, ResultMissing)):
        waiting.result(NOW)
    assert ran == [2]


def test_a_task_with_a_key_is_live_once_and_its_key_is_free_when_it_is_done(tasks: Tasks) -> None:
    @tasks.task(key="order-{order}")
    def ship(order: int, fast: bool = False) -> bool:
        return fast

    first, second = ship.push(1), ship.push(1, fast=True)
    assert (first.pushed, second.pushed, second.id) == ("created", "ignored", first.id)
    other = ship.options(key="by hand").push(1)
    work(tasks)
    third = ship.push(1, fast=True)
    work(tasks)
    assert [one.result(NOW) for one in (second, other, third)] == [False, False, True]


def test_many_calls_are_pushed_in_one_go(tasks: Tasks) -> None:
    @tasks.task
    def double(number: int) -> int:
        return number * 2

    handles = double.push_many([double.draft(number) for number in range(5)])
    work(tasks)
    assert [one.result(NOW) for one in handles] == [0, 2, 4, 6, 8]


def test_a_task_that_no_worker_here_knows_waits_for_one_that_does(face: Face, tasks: Tasks, db: Database) -> None:
    @tasks.task
    def old(number: int) -> int:
        return number

    late = tasks_of(face, db)

    @late.task
    def new(number: int) -> int:
        return -number

    mine, other = old.push(1), new.push(2)
    work(tasks)
    assert (mine.status(), other.status()) == ("done", "waiting")
    work(late)
    assert other.result(NOW) == -2


def test_a_task_that_was_renamed_and_reshaped_runs_old_messages(face: Face, tasks: Tasks, db: Database) -> None:
    @tasks.task
    def send_mail(to: str, text: str) -> str:
        return f"{to}: {text}"

    before = send_mail.push("ann", "hi")
    later = tasks_of(face, db)

    @later.task(upgrades={"send_mail": lambda old: {"address": old["to"], "text": old["text"]}})
    def send(address: str, text: str, urgent: bool = False) -> str:
        return f"{address}! {text} {urgent}"

    work(later)
    assert send.handle(before.id).result(NOW) == "ann! hi False"


def test_the_callback_of_a_batch_is_called_once_when_all_of_its_calls_have_ended(
    tasks: Tasks, db: Database, clock: MovableClock
) -> None:
    told: list[list[tuple[str, Any]]] = []

    @tasks.task
    def half(number: int) -> int:
        if number % 2:
            raise Bury("odd")
        return number // 2

    @tasks.task(queue="mail", results=None)
    def quiet(number: int) -> None: ...

    @tasks.callback
    def report(outcomes: list[TaskOutcome]) -> None:
        told.append([(one.status, one.value) for one in outcomes])

    drafts = [half.draft(4), half.draft(5), quiet.draft(1), half.after(minutes(1)).draft(8)]
    if not db.store.capabilities.transactions:
        with pytest.raises(NotSupported):
            tasks.push_batch(drafts, report)
        assert everything(db) == []
        return
    batch = tasks.push_batch(drafts, report)
    work(tasks)
    assert told == []
    tasks.queue("tasks").redrive()  # its second outcome completes nothing
    work(tasks)
    assert told == []
    clock.advance(minutes(1))
    work(tasks)
    assert told == [[("done", 2), ("failed", None), ("done", None), ("done", 4)]]
    assert [one.status() for one in batch.handles] == ["done", "failed", "unknown", "done"]
    tasks.queue("tasks").redrive()  # nor does one that comes later
    work(tasks)
    clock.advance(hours(24 * 8))
    work(tasks)
    assert len(told) == 1


def test_a_batch_that_is_cancelled_or_late_calls_back_with_the_outcomes_that_there_are(
    tasks: Tasks, db: Database, clock: MovableClock
) -> None:
    if not db.store.capabilities.transactions:
        return  # there are no batches
    told: list[list[str]] = []

    @tasks.task
    def note(number: int) -> None: ...

    @tasks.callback
    def report(outcomes: list[TaskOutcome]) -> None:
        told.append([one.status for one in outcomes])

    later = note.after(hours(24 * 30))
    cancelled = tasks.push_batch([note.draft(1), later.draft(2)], report)
    late = tasks.push_batch([note.draft(1), later.draft(2)], report, deadline=hours(0.5))
    work(tasks)
    assert (told, cancelled.cancel()) == ([], 1)
    work(tasks)
    assert told == [["done", "cancelled"]]
    clock.advance(hours(0.5))  # results are kept for an hour
    work(tasks)
    assert told[1:] == [["done"]]
    assert [one.status() for one in late.handles] == ["done", "waiting"]


def test_a_call_of_a_batch_that_an_operator_takes_out_of_its_queue_ends_as_cancelled(
    tasks: Tasks, db: Database, clock: MovableClock
) -> None:
    if not db.store.capabilities.transactions:
        return  # there are no batches
    told: list[list[str]] = []

    @tasks.task
    def note(number: int) -> None:
        if number == 0:
            raise Bury("nothing")

    @tasks.task(results=None)
    def quiet(number: int) -> None: ...

    @tasks.callback
    def report(outcomes: list[TaskOutcome]) -> None:
        told.append([one.status for one in outcomes])

    later = [note.after(hours(1)).draft(number) for number in (1, 2)]
    batch = tasks.push_batch([note.draft(0), *later, quiet.after(hours(1)).draft(3)], report)
    _, first, second, _ = batch.handles
    work(tasks)
    operated = db.queue("tasks")
    assert operated.remove(where="id > 0", dry_run=True).count == 4
    assert (operated.cancel(first.id).count, operated.remove(second.id).count) == (1, 1)
    assert operated.remove(where="id > 0").count == 2  # the dead call has reported its outcome
    assert [one.status() for one in batch.handles] == ["failed", "cancelled", "cancelled", "unknown"]
    work(tasks)
    assert told == [["failed", "cancelled", "cancelled", "cancelled"]]
    with pytest.raises(TaskCancelled):
        first.result(NOW)
    clock.advance(hours(2))
    db.prune()
    assert [one for one in everything(db) if one.queue == "tasks/results"] == []


def test_a_call_is_unique_within_a_window_also_when_it_has_run(tasks: Tasks, clock: MovableClock) -> None:
    @tasks.task(key="user-{user}", unique=hours(1))
    def greet(user: int, text: str = "") -> str:
        return text

    first = pushed_or_refused(greet, tasks, 1, "first")
    if first is None:
        return
    work(tasks)
    clock.advance(hours(1) - seconds(1))
    second, other = greet.push_many([greet.draft(1, "second"), greet.draft(2, "other")])
    assert [(one.pushed, one.id == first.id) for one in (first, second, other)] == [
        ("created", True),
        ("ignored", True),
        ("created", False),
    ]
    clock.advance(seconds(1))
    third = greet.push(1, "third")
    work(tasks)
    assert [one.result(NOW) for one in (other, third)] == ["other", "third"]


def test_a_debounced_call_runs_once_with_the_latest_arguments_when_nothing_was_pushed_for_a_while(
    tasks: Tasks, clock: MovableClock
) -> None:
    ran: list[str] = []

    @tasks.task(key="index", debounce=minutes(1))
    def index(text: str) -> None:
        ran.append(text)

    for text in ("first", "second", "third"):
        index.push(text)
        clock.advance(seconds(40))
        work(tasks)
    assert ran == []
    clock.advance(seconds(20))
    work(tasks)
    assert ran == ["third"]


def test_a_throttled_call_runs_at_once_and_then_at_most_once_in_each_window(tasks: Tasks, clock: MovableClock) -> None:
    ran: list[int] = []

    @tasks.task(key="index", throttle=minutes(1))
    def index(number: int) -> None:
        ran.append(number)

    if pushed_or_refused(index, tasks, 0) is None:
        return
    for number in range(1, 10):  # one every 20 seconds
        work(tasks)
        clock.advance(seconds(20))
        index.push(number)
    work(tasks)
    assert ran == [0, 3, 6, 9]
    clock.advance(hours(1))
    index.push(10)
    work(tasks)
    index.push(11)
    work(tasks)
    assert ran[4:] == [10]
    clock.advance(minutes(1))
    work(tasks)
    assert ran[4:] == [10, 11]


def pushed_or_refused(task: Any, tasks: Tasks, *args: Any) -> Any:
    """Push a call that the store must note; return None if the store cannot, after checking that it refuses."""
    if tasks.database.store.capabilities.transactions:
        return task.push(*args)
    with pytest.raises(NotSupported):
        task.push(*args)
    assert everything(tasks.database) == []
    return None


def test_arguments_of_the_wrong_type_are_refused_before_anything_is_pushed(tasks: Tasks, db: Database) -> None:
    @tasks.task
    def add(a: int, b: int) -> int:
        return a + b

    wrong: list[tuple[Any, Any, str]] = [((1,), {}, "b"), ((1, "2"), {}, "int"), ((1, 2), {"c": 3}, "c")]
    for args, named, says in wrong:
        with pytest.raises((ConfigurationError, duerow.errors.InvalidMessage), match=says):
            add.push(*args, **named)
    assert everything(db) == []


def test_a_call_whose_arguments_no_longer_fit_is_buried_with_the_reason(face: Face, tasks: Tasks, db: Database) -> None:
    @tasks.task
    def pay(amount: int) -> None: ...

    old = pay.push(5)
    later = tasks_of(face, db)

    @later.task(name="pay")
    def pay_now(euros: int) -> None: ...

    work(later)
    with pytest.raises(TaskFailed, match="amount"):
        old.result(NOW)


def test_whoever_waits_for_a_result_is_woken_by_it(
    face: Face, place: Place, open_database: OpenDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    db = open_database(clock=None)
    if db.store.capabilities.wakes_consumers:  # otherwise waiting callers look again on their own
        monkeypatch.setattr(MODULES[face.name], "POLL_WOKEN", 2 * PATIENCE)
    gate = opened_by_the_second_look(monkeypatch)

    def half(number: int) -> int:
        gate.block()
        if number % 2:
            raise Bury("odd")
        return number // 2

    def run() -> None:
        with another(face) as mine, mine.connect(place.url, **place.settings) as own:
            theirs = tasks_of(mine, own)
            theirs.task(half)
            work(theirs)

    tasks = tasks_of(face, db)
    pushing = tasks.task(half)
    for number in (4, 5) if db.store.capabilities.transactions else (4,):
        handle = pushing.push(number)
        worker = threading.Thread(target=run, daemon=True)
        worker.start()
        if number % 2:
            with pytest.raises(TaskFailed, match="odd"):
                handle.result(timedelta(seconds=PATIENCE))
        else:
            assert handle.result(timedelta(seconds=PATIENCE)) == 2
        worker.join(PATIENCE)
        gate.close()


class LaterGate(Gate):
    """A gate that can be closed again."""

    looks = 0

    def close(self) -> None:
        """Close the gate until it is opened again."""
        self._opened.clear()
        self.looks = 0


def opened_by_the_second_look(monkeypatch: pytest.MonkeyPatch) -> LaterGate:
    """Return a gate that opens when a caller that registered to wait has looked for a result again."""
    gate, find = LaterGate(), outcome.find

    def looked(*args: Any) -> Any:
        found = yield from find(*args)
        gate.looks += 1
        if gate.looks == 2:
            gate.open()
        return found

    monkeypatch.setattr(outcome, "find", looked)
    return gate
