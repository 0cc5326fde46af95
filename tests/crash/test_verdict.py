"""The verdict on a run finds each broken promise in a ledger that shows it, and lets through what is promised."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from duerow.testing.torture.environment import BILLS_DEAD, DONE, EVERY, MAIL, ORDERS, TICKS
from duerow.testing.torture.evidence import Row, Span, Turn
from duerow.testing.torture.ledger import Line
from duerow.testing.torture.verdict import Verdict

A, B = 1, 2


def judged(lines: Sequence[Line], rows: Sequence[Row] = (), turns: Sequence[Turn] = ()) -> Verdict:
    """A verdict on lines in this order, a millisecond apart."""
    placed = [replace(line, seq=place, at=1_000 * place) for place, line in enumerate(lines, 1)]
    return Verdict(placed, rows, turns)


def broken(lines: Sequence[Line], rows: Sequence[Row] = (), turns: Sequence[Turn] = ()) -> list[str]:
    return [one.what for one in judged(lines, rows, turns).broken_promises()]


def pushed(*messages: int, act: str = "1.1", queue: str = MAIL, over: bool = True) -> list[Line]:
    lines = [Line("pushing", act, queue), *(Line("pushed", act, queue, id, group="g") for id in messages)]
    return [*lines, Line("over", act, queue)] if over else lines


def begun(message: int, token: int = 1, since: int | None = None, queue: str = MAIL) -> Line:
    return Line("begun", None, queue, message, token, "g", since, held=True)


def finished(message: int, token: int = 1) -> Line:
    return Line("finished", None, MAIL, message, token, "g", held=True)


def ended(*messages: int) -> list[Line]:
    return [Line("ended", None, MAIL, message) for message in messages]


def follower(message: int, id: int = 100) -> Row:
    return Row(id, DONE, "new", {"of": message})


@pytest.mark.parametrize(
    ("evidence", "rows"),
    [
        (ended(A), []),
        ([], [follower(A)]),
        ([], [Row(A, DONE, "new", {"act": "1.1"})]),
        ([], [Row(A, MAIL, "dead", {"act": "1.1"})]),
        ([], [Row(A, BILLS_DEAD, "new", {"act": "1.1"})]),
        ([Line("effect", None, MAIL, A)], []),
        ([Line("removed", None, MAIL, A)], []),
    ],
)
def test_one_end_of_any_kind_is_right_and_none_or_two_are_not(evidence: list[Line], rows: list[Row]) -> None:
    assert broken([*pushed(A), *evidence], rows) == []
    assert broken(pushed(A)) == [f"message {A} of {MAIL} ended 0 times: []"]
    assert "ended 2 times" in broken([*pushed(A), *evidence, *ended(A)], rows)[0]


def test_what_a_history_keeps_is_one_end_for_each_message() -> None:
    orders = pushed(A, queue=ORDERS)
    done, moved = Turn(A, 1, ORDERS, "done"), Turn(A, 3, ORDERS, "moved")
    assert broken(orders, turns=[Turn(A, 1, ORDERS, "failed"), replace(done, token=2)]) == []
    assert "ended 2 times" in broken(orders, turns=[done, moved])[0]
    assert "ended 0 times" in broken(orders)[0]
    assert "ended 0 times" in broken(orders, rows=[follower(A)])[0]
    assert "ended 2 times" in broken(orders, rows=[follower(A), follower(A, 101)], turns=[done])[0]


def test_a_message_without_the_line_of_its_transaction_is_told() -> None:
    there = [replace(begun(A), act="1.1w"), *ended(A)]
    assert "transaction 1.1w" in broken(there)[0]
    assert broken([*pushed(A, act="1.1w"), *there]) == []


def test_a_turn_that_two_began_is_told() -> None:
    assert "was begun 2 times" in broken([*pushed(A), begun(A), begun(A), *ended(A)])[0]
    assert broken([*pushed(A), begun(A), begun(A, 2), *ended(A)]) == []


def test_a_message_that_waits_or_is_lent_at_the_end_is_stuck() -> None:
    assert "is stuck" in broken(pushed(A), [Row(A, MAIL, "error", {"act": "1.1"}, why="stopped")])[0]
    assert "is stuck" in broken(pushed(A), [Row(A, MAIL, "dead", {"act": "1.1"}, leased_by="w")])[0]


def test_two_of_a_group_held_at_once_are_told() -> None:
    both = [*pushed(A, B), begun(A), begun(B), finished(A), *ended(A, B)]
    assert "were held together" in broken(both)[0]
    assert broken([*pushed(A, B), begun(A), finished(A), begun(B), finished(B), *ended(A, B)]) == []
    assert broken([*pushed(A, B), begun(A), begun(B), replace(finished(A), held=False), *ended(A, B)]) == []


def test_an_extension_that_did_not_hold_is_told_unless_an_operator_ended_the_lease() -> None:
    extended = [Line("extended", None, MAIL, A, 1, held=False), Line("in time", None, MAIL, A, 1)]
    assert "broke" in broken([*pushed(A), begun(A), *extended, *ended(A)])[0]
    assert broken([*pushed(A), begun(A), extended[0], *ended(A)]) == []
    assert broken([*pushed(A), begun(A), Line("changed", None, MAIL, A), *extended, *ended(A)]) == []


def test_a_message_that_was_pushed_before_a_later_one_was_begins_before_it() -> None:
    lines = [*pushed(A), *pushed(B, act="2.1"), begun(B), begun(A), *ended(A, B)]
    assert "began (line 7) before 1 (line 8)" in broken(lines)[0]


def test_a_message_whose_push_ended_after_a_later_one_began_may_come_after_it() -> None:
    early, *rest = pushed(A)
    verdict = judged([early, *pushed(B, act="2.1"), begun(B), finished(B), *rest, begun(A), *ended(A, B)])
    assert verdict.broken_promises() == []
    assert dict(verdict.allowed) == {"it was pushed by a transaction that ended too late": 1}


def test_a_message_that_was_there_when_a_claim_began_is_not_passed_over_by_it() -> None:
    early, *rest = pushed(A)  # which ends, in line 6, after the push of B began, but before the claim of it
    lines = [early, *pushed(B, act="2.1"), *rest, begun(B, since=6_500), begun(A), *ended(A, B)]
    assert "before 1" in broken(lines)[0]
    lines[6] = begun(B, since=5_500)
    assert broken(lines) == []


def test_a_message_begins_again_before_a_later_one_unless_it_was_brought_back_after_that_began() -> None:
    both = [*pushed(A), *pushed(B, act="2.1"), begun(A), begun(B, since=6_900)]
    assert "began (line 8) before 1 (line 9)" in broken([*both, begun(A, 2), *ended(A, B)])[0]
    revived = [
        Line("reviving", "3.1", MAIL, A, group="g"),
        Line("revived", "3.1", MAIL, A, group="g"),
        Line("over", "3.1", MAIL),
    ]
    verdict = judged([*both, *revived, begun(A, 2), *ended(A, B)])
    assert verdict.broken_promises() == []
    assert verdict.allowed == {}  # it came back after that began
    during = judged([*both[:-1], revived[0], both[-1], *revived[1:], begun(A, 2), *ended(A, B)])
    assert during.broken_promises() == []
    assert dict(during.allowed) == {"it was brought back by a transaction that ended too late": 1}


def test_a_push_whose_end_nobody_saw_promises_no_order() -> None:
    lines = [*pushed(A, over=False), *pushed(B, act="2.1"), begun(B, since=5_000), begun(A), *ended(A, B)]
    verdict = judged(lines)
    assert verdict.broken_promises() == []
    assert dict(verdict.allowed) == {"it was pushed by a transaction that nobody saw end": 1}


def test_the_story_of_a_broken_promise_tells_its_lines_turns_and_rows() -> None:
    verdict = judged([*pushed(A), begun(A)], [Row(A, MAIL, "new", {"act": "1.1"}, why="nobody asked")])
    story = verdict.story(next(iter(verdict.stuck())))
    assert "nobody asked" in story
    assert "begun 1 token 1" in story


FIRST = datetime(2026, 1, 1, 12, 0, 0, 250_000, tzinfo=UTC)


def ticks(*numbers: float) -> list[Row]:
    """Messages of ticks, counted from the first one, which is 0."""
    tick = (FIRST + number * EVERY for number in numbers)
    return [Row(id, TICKS, "new", {}, {"schedule": "s", "tick": at.isoformat()}) for id, at in enumerate(tick, 1)]


def ticked(rows: Sequence[Row], last: int | None) -> list[str]:
    span = Span(FIRST, None if last is None else FIRST + last * EVERY)
    return [one.what for one in Verdict([], rows, [], span).broken_promises()]


def test_each_tick_of_the_schedule_is_pushed_once() -> None:
    assert ticked([], None) == []
    assert ticked(ticks(0, 1, 2), 2) == []
    assert ticked(ticks(0, 1, 2, 3), 2) == []  # a server commits what a process asked for that is dead
    assert ticked(ticks(0, 2), 2) == ["the tick of 2026-01-01 12:00:01.250000+00:00 was pushed 0 times"]
    assert ticked(ticks(0, 1), 2) == ["the tick of 2026-01-01 12:00:02.250000+00:00 was pushed 0 times"]
    assert ticked(ticks(1), 1) == ["the tick of 2026-01-01 12:00:00.250000+00:00 was pushed 0 times"]
    assert ticked(ticks(0, 1, 1), 1) == ["the tick of 2026-01-01 12:00:01.250000+00:00 was pushed 2 times"]
    assert ticked(ticks(0, 0.5, 1), 1) == [
        "message 2 is for 2026-01-01 12:00:00.750000+00:00, which is not a tick of the schedule"
    ]
