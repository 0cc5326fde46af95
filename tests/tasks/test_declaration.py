"""What can be a task, and what is said of what cannot."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pydantic
import pytest

import duerow
from duerow import Draft, TaskOutcome, Tasks
from duerow.errors import CodecError, ConfigurationError, InvalidMessage
from duerow.testing.contents import everything


@dataclass
class Order:
    id: int
    placed: datetime


class Article(pydantic.BaseModel):
    name: str


class Strange: ...


@pytest.fixture
def tasks() -> Iterator[Tasks]:
    with duerow.connect("memory://", migrate=True) as db:
        yield Tasks(db, results=timedelta(hours=1))


def test_arguments_and_results_of_declared_types_come_back_as_they_were(tasks: Tasks) -> None:
    seen: list[Any] = []

    @tasks.task
    def ship(order: Order, /, articles: list[Article], *, note: str = "none") -> Order:
        seen.append((order, articles, note))
        return order

    @tasks.task
    def best(of: list[int], at: datetime | None = None) -> Order:
        return Order(max(of), at or datetime(2026, 1, 1, tzinfo=UTC))

    order = Order(1, datetime(2026, 3, 1, tzinfo=UTC))
    shipped, chosen = ship.push(order, [Article(name="tea")]), best.push([1, 3])
    tasks.worker().run("idle", signals=False)
    assert seen == [(order, [Article(name="tea")], "none")]
    assert shipped.result(timedelta(0)) == order
    assert chosen.result(timedelta(0)) == Order(3, datetime(2026, 1, 1, tzinfo=UTC))


def one(number: int) -> None: ...


def many(*numbers: int) -> None: ...


def named(**numbers: int) -> None: ...


def strange(one: Strange) -> None: ...


def gives_strange() -> Strange: ...  # type: ignore[empty-body]


def counts() -> Iterator[int]:
    yield 1


def unknown(one: Nowhere) -> None: ...  # type: ignore[name-defined]  # noqa: F821


@pytest.mark.parametrize(
    ("function", "terms", "says"),
    [
        (many, {}, r"takes \*numbers"),
        (named, {}, r"takes \*\*numbers"),
        (strange, {}, "JSON cannot carry"),
        (gives_strange, {}, "keeps its results"),
        (counts, {}, "generator function"),
        (unknown, {}, "annotations of task 'unknown' cannot be read"),
        (Order, {}, "a task must be a function"),
        (print, {"name": "json"}, "cannot be called 'json'"),
        (print, {"name": "duerow.results"}, "cannot be called 'duerow.results'"),
        (print, {"name": ""}, "1 to 100 printable"),
        (one, {"key": "{order}"}, "names order"),
        (one, {"key": 5}, "a template or a function"),
        (one, {"key": "{"}, "is not a valid template"),
    ],
)
def test_what_cannot_be_a_task_is_refused(
    tasks: Tasks, function: Callable[..., Any], terms: dict[str, Any], says: str
) -> None:
    with pytest.raises(ConfigurationError, match=says):
        tasks.task(**terms)(function)
    assert tasks.definitions == {}


def test_two_functions_cannot_have_one_name_but_one_may_be_declared_again(tasks: Tasks) -> None:
    for _ in range(2):

        @tasks.task(name="note")
        def first(number: int) -> None: ...

    with pytest.raises(ConfigurationError, match="two tasks are called 'note'"):
        tasks.task(name="note")(one)


def test_options_that_are_not_there_or_out_of_bounds_are_refused(tasks: Tasks) -> None:
    @tasks.task(key=lambda number: f"n-{number}")
    def note(number: int) -> None: ...

    wrong: list[tuple[dict[str, Any], type[Exception], str]] = [
        ({"prioriti": 1}, ConfigurationError, "prioriti"),
        ({"priority": 1.5}, InvalidMessage, "priority"),
        ({"due": datetime(2026, 1, 1)}, InvalidMessage, "time zone"),
        ({"on_duplicate": "both"}, InvalidMessage, "on_duplicate"),
    ]
    for options, error, says in wrong:
        with pytest.raises(error, match=says):
            note.options(**options)
    assert note.options(delay=timedelta(1)).at(datetime(2027, 1, 1, tzinfo=UTC)).draft(1).delay is None
    assert note.draft(3).key == "n-3"
    with pytest.raises(ConfigurationError, match="takes drafts made with"):
        note.push_many([Draft(1)])
    with pytest.raises(CodecError, match="takes calls to its tasks"):
        tasks.queue("tasks").push({"number": 1})


@pytest.mark.parametrize("kind", ["unique", "debounce", "throttle"])
def test_calls_that_a_window_spaces_cannot_be_pushed_past_it(tasks: Tasks, kind: str) -> None:
    @tasks.callback
    def report(outcomes: list[TaskOutcome]) -> None: ...

    terms: dict[str, Any] = {"key": "index-{number}", kind: timedelta(minutes=1)}

    @tasks.task(**terms)
    def index(number: int) -> None: ...

    refused: list[Any] = [
        lambda: tasks.push_batch([index.draft(1)], report),
        lambda: index.options(on_duplicate="replace"),
        lambda: index.options(key=None).push(1),
    ]
    if kind != "unique":
        refused.append(lambda: index.after(timedelta(1)).push(1))
    for push in refused:
        for mode in (nullcontext(), tasks.trial(), tasks.trial(run=True)):
            with mode, pytest.raises(ConfigurationError, match=f"'index' has {kind}="):
                push()
    assert everything(tasks.database) == []


def test_a_worker_needs_tasks_and_queues_that_have_some(tasks: Tasks) -> None:
    with pytest.raises(ConfigurationError, match="there are no tasks yet"):
        tasks.worker()

    @tasks.task(queue="mail")
    def send(to: str) -> str:
        """Send it."""
        return to

    assert (send("ann"), send.name, send.queue, send.__doc__) == ("ann", "send", "mail", "Send it.")
    with pytest.raises(ConfigurationError, match="'post' has no tasks; the queues with tasks are mail"):
        tasks.worker(["post"])
    with pytest.raises(ConfigurationError, match="does not take transactional="):
        tasks.worker(transactional=True)
    with pytest.raises(ConfigurationError, match="no database yet"):
        Tasks().queue("mail")
    with pytest.raises(ConfigurationError, match="tasks take a database"):
        Tasks().use("memory://")  # type: ignore[arg-type]


def test_a_queue_of_tasks_is_opened_on_the_terms_that_are_said_before_it_is_used(tasks: Tasks) -> None:
    tasks.configure("mail", lease=timedelta(seconds=5), dead_letter="mail-dead")
    assert (tasks.queue("mail").lease, tasks.queue("mail").dead_letter) == (timedelta(seconds=5), "mail-dead")
    with pytest.raises(ConfigurationError, match="already in use"):
        tasks.configure("mail", lease=timedelta(seconds=6))
    with pytest.raises(ConfigurationError, match="does not take payload="):
        tasks.configure("other", payload=Order)


def test_a_schedule_calls_a_task_with_its_arguments(tasks: Tasks) -> None:
    @tasks.task
    def clean(days: int = 7) -> int:
        return days

    schedule = clean.schedule(every=timedelta(hours=1), arguments={"days": 3})
    assert (schedule.name, schedule.queue) == ("clean", "tasks")
    tasks.database.push_scheduled("clean")
    assert [one.payload.arguments for one in tasks.queue("tasks").find()] == [{"days": 3}]
    with pytest.raises(ConfigurationError, match="unexpected keyword argument 'weeks'"):
        clean.schedule(cron="0 3 * * *", arguments={"weeks": 3})
