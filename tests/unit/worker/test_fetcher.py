"""When a worker asks for messages: its plan is carried out here by hand, with a time that passes at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from math import inf
from typing import Any

import pytest

import duerow
from duerow import Release, Reservation
from duerow.errors import StoreUnavailable
from duerow.plan import run
from duerow.queue.schedule import Maintained
from duerow.retry import DEFAULT
from duerow.worker import fetcher
from duerow.worker.fetcher import NAP, Fetcher, HandOut, NextDue, Reserve, Sleep
from duerow.worker.maintenance import Maintain
from duerow.worker.run import Options, Run, Until
from duerow.worker.settler import RoomWanted, Settle, Settler

Answers = dict[type, Callable[[Any], Any]]


def a_run(until: Until = None, batch: int = 10) -> Run:
    options = Options(
        batch=batch,
        concurrency=1,
        lease=timedelta(minutes=1),
        retry=DEFAULT,
        timeout=None,
        poll=None,
        grace=timedelta(seconds=1),
        name="anna",
    )
    return Run("mail", options, until)


class Idle:
    """Carries out the steps of a worker with nothing to do, and counts what it asks the database for."""

    def __init__(self, worker_run: Run, seconds: float, answers: Answers | None = None) -> None:
        self.worker_run, self.left, self.answers = worker_run, seconds, answers or {}
        self.now = 0.0
        self.asked: Counter[str] = Counter()
        self.sleeps: list[float] = []

    def __call__(self, step: Any) -> Any:
        self.asked[type(step).__name__] += 1
        if type(step) in self.answers:
            return self.answers[type(step)](step)
        if isinstance(step, Reserve):
            return []
        if isinstance(step, Sleep):
            self.sleeps.append(step.seconds)
            self.now += step.seconds
            self.worker_run.over = self.now >= self.left
            return False
        return None

    @property
    def statements(self) -> int:
        return self.asked["Reserve"] + self.asked["NextDue"]


@pytest.mark.parametrize("hears", [True, False])
def test_an_idle_worker_asks_at_most_three_times_a_second(hears: bool) -> None:
    worker_run = a_run()
    worker_run.hears = hears
    idle = Idle(worker_run, seconds=60)
    run(Fetcher(worker_run).next(10), idle)
    assert idle.statements / idle.now <= 3
    worker_run.over, idle.left = False, 120
    asked, since = idle.statements, idle.now
    run(Fetcher(worker_run).next(10), idle)
    assert (idle.statements - asked) / (idle.now - since) <= 3
    assert max(idle.sleeps) <= (5 if hears else 1)


@pytest.mark.parametrize(("until", "exact"), [(None, False), ("idle", True), ("empty", True)])
def test_only_a_run_that_ends_with_its_messages_relies_on_each_claim(until: Until, exact: bool) -> None:
    worker_run = a_run(until)
    claims: list[Reserve] = []

    def reserve(step: Reserve) -> list[Any]:
        claims.append(step)
        worker_run.over = True
        return []

    answers: Answers = {Reserve: reserve, Maintain: lambda step: Maintained(0, None, {})}
    run(Fetcher(worker_run).next(1), Idle(worker_run, 60, answers))
    assert {one.exact for one in claims} == {exact}


def test_it_sleeps_until_the_next_message_is_due_and_then_claims_first() -> None:
    worker_run = a_run()
    order: list[str] = []
    due_in = iter([timedelta(milliseconds=3), None])

    def reserve(step: Reserve) -> list[Any]:
        order.append("claim")
        return []

    def next_due(step: NextDue) -> timedelta | None:
        order.append("next due")
        return next(due_in)

    def sleep(step: Sleep) -> bool:
        order.append(f"sleep {step.seconds:.3f}" if step.seconds == 0.003 else "sleep")
        worker_run.over = order.count("sleep") > 0
        return False

    run(Fetcher(worker_run).next(1), Idle(worker_run, 60, {Reserve: reserve, NextDue: next_due, Sleep: sleep}))
    assert order == ["claim", "next due", "sleep 0.003", "claim", "next due", "sleep"]


@pytest.mark.parametrize(
    ("until", "due_in", "order"),
    [
        (None, None, ["claim", "next due", "sleep"]),
        (None, timedelta(minutes=1), ["claim", "next due", "sleep"]),
        (None, timedelta(0), ["claim", "next due", "claim", "sleep"]),
        (None, timedelta(minutes=-1), ["claim", "next due", "claim", "sleep"]),
        ("empty", timedelta(minutes=1), ["claim", "next due", "claim", "sleep"]),
    ],
)
def test_after_a_look_that_came_after_a_claim_it_claims_again_only_if_something_is_due_or_the_run_could_end(
    until: Until, due_in: timedelta | None, order: list[str]
) -> None:
    worker_run = a_run(until)
    told: list[str] = []

    def note(name: str, answer: Any) -> Callable[[Any], Any]:
        return lambda step: told.append(name) or answer

    def sleep(step: Sleep) -> bool:
        told.append("sleep")
        worker_run.over = True
        return False

    answers: Answers = {Reserve: note("claim", []), NextDue: note("next due", due_in), Sleep: sleep}
    run(Fetcher(worker_run).next(1), Idle(worker_run, 60, answers))
    assert told == order


def test_after_each_sleep_that_nothing_ended_it_claims_even_if_nothing_seems_due() -> None:
    worker_run = a_run()
    told: list[str] = []

    def note(step: Any) -> Any:
        told.append(type(step).__name__)
        worker_run.over = told.count("Sleep") == 3
        return [] if isinstance(step, Reserve) else False if isinstance(step, Sleep) else None

    run(Fetcher(worker_run).next(1), note)
    assert [name for name in told if name != "Listen"] == [
        *("Reserve", "NextDue", "Sleep"),
        *("NextDue", "Reserve", "Sleep"),
        *("NextDue", "Reserve", "Sleep"),
    ]


def test_what_is_settled_while_it_asks_when_the_next_message_is_due_ends_the_sleep_after_it() -> None:
    worker_run = a_run()
    until: list[float] = []

    def next_due(step: NextDue) -> None:
        until.append(worker_run.sleeps_until)

    def sleep(step: Sleep) -> bool:
        worker_run.over = True
        return False

    run(Fetcher(worker_run).next(1), Idle(worker_run, 60, {NextDue: next_due, Sleep: sleep}))
    assert until == [inf], "what is settled now, and is due later than at once, would not end the sleep"


def test_after_a_push_it_claims_before_it_asks_anything_else() -> None:
    worker_run = a_run()
    order: list[str] = []

    def sleep(step: Sleep) -> bool:
        order.append("woken")
        worker_run.over = len(order) > 8
        return True

    def note(name: str, answer: Any) -> Callable[[Any], Any]:
        return lambda step: order.append(name) or answer

    answers: Answers = {Reserve: note("claim", []), NextDue: note("next due", None), Sleep: sleep}
    run(Fetcher(worker_run).next(1), Idle(worker_run, 60, answers))
    assert order[order.index("woken") + 1] == "claim"


def test_what_is_settled_during_the_last_look_ends_the_sleep_after_it() -> None:
    worker_run = a_run(until="empty")
    told: list[bool] = []

    def reserve(step: Reserve) -> list[Any]:
        told.append(Settler(worker_run).settled([]).wake)  # the claim has looked already, and saw nothing of this
        return []

    def sleep(step: Sleep) -> bool:
        worker_run.over = len(told) > 1
        return False

    answers: Answers = {Reserve: reserve, NextDue: lambda step: timedelta(minutes=1), Sleep: sleep}
    run(Fetcher(worker_run).next(1), Idle(worker_run, 60, answers))
    assert told == [False, True]


def test_a_server_that_is_away_is_asked_seldom() -> None:
    worker_run = a_run()

    def away(step: Any) -> Any:
        raise StoreUnavailable("it is away")

    idle = Idle(worker_run, seconds=600, answers={Reserve: away})
    run(Fetcher(worker_run).next(1), idle)
    assert idle.statements < 300
    assert idle.sleeps[0] <= 0.1
    assert max(idle.sleeps) <= 5


def held(count: int = 1) -> list[Reservation]:
    """Return reservations of so many messages."""
    with duerow.connect("memory://") as database:
        queue = database.queue("mail")
        queue.push_many(duerow.Draft(number) for number in range(count))
        return queue.reserve_many(count)


def steps_of(worker_run: Run, limit: int, answers: Answers) -> list[str]:
    """Return the steps of one call for messages, in order, each with its number if it has one."""
    idle, order = Idle(worker_run, 60, answers), list[str]()

    def note(step: Any) -> Any:
        seconds = f" {step.seconds}" if isinstance(step, Sleep) else ""
        order.append(type(step).__name__ + seconds)
        return idle(step)

    run(Fetcher(worker_run).next(limit), note)
    return order


def answering(*answers: Any) -> Callable[[Any], Any]:
    """Answer one step after the other; raise those that are errors."""
    left = list(answers)

    def answer(step: Any) -> Any:
        said = left.pop(0)
        if isinstance(said, Exception):
            raise said
        return said

    return answer


def test_with_messages_in_hand_it_naps_once_in_a_run_before_it_listens() -> None:
    worker_run = a_run()
    worker_run.in_flight.take_in(held(), 0.0)
    reserve = answering([], [], [], held())
    steps = steps_of(worker_run, 1, {Reserve: reserve, Sleep: lambda step: True})
    nap = f"Sleep {NAP}"
    assert [step for step in steps if step in ("Reserve", "Listen", nap)] == [
        *("Reserve", nap, "Reserve", "Listen", "Reserve", "Listen", "Reserve")
    ]


def test_after_a_claim_that_found_all_there_was_last_time_it_tells_the_store_before_it_claims() -> None:
    worker_run = a_run()
    fetcher = Fetcher(worker_run)
    names = {Reserve: "claim", NextDue: "next due", Sleep: "sleep"}

    def next_one(*claims: list[Reservation], due_in: timedelta | None = None) -> list[str]:
        order: list[str] = []
        answers: Answers = {Reserve: answering(*claims), NextDue: lambda step: due_in, Sleep: lambda step: True}
        idle = Idle(worker_run, 60, answers)

        def note(step: Any) -> Any:
            order.extend(name for kind, name in names.items() if isinstance(step, kind))
            return idle(step)

        assert len(run(fetcher.next(10), note)) == 1
        worker_run.in_flight.held.clear()
        return order

    assert next_one(held()) == ["claim"]
    assert next_one([], held()) == ["claim", "next due", "sleep", "claim"]
    assert next_one(held()) == ["next due", "sleep", "claim"]
    assert next_one(held(), due_in=timedelta(0)) == ["next due", "claim"]
    assert next_one(held()) == ["claim"]


@pytest.mark.parametrize(
    ("hears", "until", "due_in", "before_a_second"),
    [(True, None, None, 3), (True, None, 3, 3), (True, None, 0, 6), (True, "empty", 3, 6), (False, None, None, 6)],
)
def test_sleeps_that_pushes_end_become_longer_sooner_unless_something_is_due_or_the_run_should_end(
    hears: bool, until: Until, due_in: float | None, before_a_second: int
) -> None:
    worker_run = a_run(until)
    worker_run.hears = hears
    wait = None if due_in is None else timedelta(minutes=due_in)
    idle = Idle(worker_run, 60, {NextDue: lambda step: wait})
    run(Fetcher(worker_run).next(10), idle)
    assert sum(seconds < 0.44 for seconds in idle.sleeps) == before_a_second


def test_after_a_time_without_sleeps_a_push_in_progress_is_found_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(fetcher, "monotonic", lambda: now)
    worker_run = a_run()
    worker_run.hears = True
    fetching = Fetcher(worker_run)
    sleeps: list[float] = []

    def sleep(step: Sleep) -> bool:
        sleeps.append(step.seconds)
        worker_run.over = len(sleeps) % 3 == 0
        return False

    for busy_s, expected in ((0.0, [0.01, 0.02, 0.2]), (1.0, [0.01, 0.1, 1.0]), (15.0, [0.01, 0.02, 0.2])):
        now += busy_s
        if busy_s < 10:  # as if a message had been found; after 15 s, the first sleep is short in any case
            fetching._interval.reset()
        worker_run.over, sleeps = False, []
        run(fetching.next(10), Idle(worker_run, 60, {Sleep: sleep}))
        assert all(0.74 <= slept / wanted <= 1.26 for slept, wanted in zip(sleeps, expected, strict=True)), sleeps


def test_a_message_that_comes_during_the_last_look_is_handed_out_without_a_sleep() -> None:
    worker_run = a_run()
    steps = steps_of(worker_run, 1, {Reserve: answering([], held()), NextDue: lambda step: timedelta(0)})
    assert steps == ["Reserve", "Listen", "NextDue", "Reserve"]
    assert worker_run.sleeps_until == 0.0


def test_a_run_that_ends_when_idle_looks_at_the_schedules_once_before_its_end() -> None:
    worker_run = a_run(until="idle")
    steps = steps_of(worker_run, 1, {Maintain: lambda step: Maintained(0, None, {})})
    assert steps == ["Reserve", "Present", "TellDifferences", "LookForUnknown", "Maintain", "Reserve"]
    assert worker_run.over


def test_a_run_that_ends_when_idle_goes_on_with_what_a_schedule_has_pushed() -> None:
    worker_run = a_run(until="idle")
    answers: Answers = {Maintain: lambda step: Maintained(0, None, {}), Reserve: answering([], held())}
    assert [one.message.payload for one in run(Fetcher(worker_run).next(1), Idle(worker_run, 60, answers))] == [0]
    assert not worker_run.over


def test_a_message_that_must_be_handled_apart_is_waited_for_before_anything_is_claimed() -> None:
    worker_run = a_run()
    [attempt] = worker_run.in_flight.take_in(held(), 0.0)
    worker_run.in_flight.apart.add(attempt)
    answers: Answers = {RoomWanted: lambda step: worker_run.in_flight.let_go([attempt]), Reserve: answering(held())}
    assert steps_of(worker_run, 1, answers) == ["RoomWanted", "Reserve"]


def test_a_server_that_was_away_hands_out_messages_again_and_the_log_says_both(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO", "duerow.worker")
    worker_run = a_run()
    away = StoreUnavailable("it is away")
    steps = steps_of(worker_run, 1, {Reserve: answering(away, held())})
    assert [step.partition(" ")[0] for step in steps] == ["Reserve", "Sleep", "Reserve"]
    said = [record.getMessage() for record in caplog.records if "fetch from" in record.getMessage()]
    assert said[0].startswith("cannot fetch from mail: StoreUnavailable: it is away; trying again in ")
    assert said[1] == "can fetch from mail again"


def test_a_worker_that_claims_one_by_one_waits_for_messages_while_it_may_run_all_its_handlers() -> None:
    worker_run = a_run(batch=1)
    assert worker_run.options.one_by_one
    steps = steps_of(worker_run, 1, {Reserve: answering([], [], [], [], held()), Sleep: lambda step: True})
    assert steps.count("Reserve") == 5


def test_what_a_run_claims_while_it_ends_is_given_back() -> None:
    worker_run = a_run()

    def reserve(step: Reserve) -> list[Reservation]:
        worker_run.over = True
        return held(2)

    given: list[Any] = []
    answers: Answers = {Reserve: reserve, Settle: lambda step: given.extend(step.pairs)}
    assert run(Fetcher(worker_run).next(2), Idle(worker_run, 60, answers)) == []
    assert [(reservation.message.payload, settlement) for reservation, settlement in given] == [
        (0, Release()),
        (1, Release()),
    ]
    assert not worker_run.in_flight.held


def test_it_supplies_handlers_as_long_as_there_is_room_and_says_how_many_messages_came() -> None:
    worker_run = a_run()
    handed: list[tuple[int, bool]] = []
    wanted: list[int] = []

    def reserve(step: Reserve) -> list[Reservation]:
        wanted.append(step.limit)
        return held()

    def hand_out(step: HandOut) -> None:
        handed.append((step.count, step.more))
        assert len(worker_run.in_flight.waiting) == 1

    def room_wanted(step: RoomWanted) -> None:
        worker_run.over = True

    answers: Answers = {Reserve: reserve, HandOut: hand_out, RoomWanted: room_wanted}
    run(Fetcher(worker_run).fetch(), Idle(worker_run, 60, answers))
    assert (wanted, handed) == ([1], [(1, False)])


@pytest.mark.parametrize("count", [1, 9, 10])
def test_only_a_full_claim_is_followed_by_the_next_one_before_handlers_begin(count: int) -> None:
    worker_run = a_run()
    worker_run.in_flight.prefetch.note(0.001)  # a quick handler, so that it claims ahead
    handed: list[HandOut] = []

    def hand_out(step: HandOut) -> None:
        handed.append(step)
        worker_run.over = True

    answers: Answers = {Reserve: answering(held(count)), HandOut: hand_out}
    run(Fetcher(worker_run).fetch(), Idle(worker_run, 60, answers))
    assert handed == [HandOut(count, more=count == 10)]


def test_others_can_tell_until_when_it_sleeps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetcher, "monotonic", lambda: 100.0)
    worker_run = a_run()
    during: list[tuple[float, float]] = []
    answers: Answers = {
        Reserve: answering([], held()),
        Sleep: lambda step: during.append((worker_run.sleeps_until, 100.0 + step.seconds)) or True,
    }
    run(Fetcher(worker_run).next(1), Idle(worker_run, 60, answers))
    [(until, expected)] = during
    assert until == expected
    assert worker_run.sleeps_until == 0.0


def test_a_message_that_is_due_but_cannot_be_had_is_not_asked_for_without_a_pause() -> None:
    worker_run = a_run()
    idle = Idle(worker_run, 60, {NextDue: lambda step: timedelta(0)})
    run(Fetcher(worker_run).next(1), idle)
    assert min(idle.sleeps) > 0


def test_the_time_of_each_claim_is_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds, noted = iter([100.0, 100.25]), list[float]()
    monkeypatch.setattr(fetcher, "monotonic", lambda: next(seconds))
    worker_run = a_run()
    monkeypatch.setattr(worker_run.in_flight.prefetch, "note_claim", noted.append)
    run(Fetcher(worker_run).next(1), Idle(worker_run, 60, {Reserve: answering(held())}))
    assert noted == [0.25]
