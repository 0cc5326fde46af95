"""A condition means the same on every store, whatever the payloads are."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from duerow import Database, Draft, Queue
from duerow.conditions.model import some
from duerow.errors import ConfigurationError, InvalidCondition
from duerow.store import Query
from duerow.stores.memory.conditions import holds
from duerow.testing.clock import MovableClock, hours, minutes, seconds
from duerow.testing.conditions import NAMES, NUMBERS, WORDS, conditions, payloads
from duerow.testing.contents import everything
from duerow.where import Condition, field, parse, payload

WORDS_OF_BOOLEANS = [True, False, "true", 1, 0, None, {}]


def found(queue: Queue, where: str | Condition) -> list[Any]:
    """Return the payloads of the messages that are found, in the order of their ids."""
    return [message.payload for message in queue.find(where, limit=1_000)]


def values(queue: Queue, where: str) -> list[Any]:
    """Return the values of `a` in the payloads that are found."""
    return [payload["a"] for payload in found(queue, where)]


def push_values(queue: Queue, pushed: list[Any]) -> None:
    queue.push_many([Draft({"a": value}) for value in pushed])


def test_messages_are_found_by_what_is_in_their_payload(queue: Queue) -> None:
    queue.push_many([Draft({"companyId": n % 3, "to": {"name": f"n{n}"}}) for n in range(6)])
    assert [one["to"]["name"] for one in found(queue, "payload.companyId = 2")] == ["n2", "n5"]
    assert found(queue, "payload.to.name = 'n4' and payload.companyId < 2") == [{"companyId": 1, "to": {"name": "n4"}}]
    assert found(queue, (payload.companyId == 2) & (payload.to.name != "n2")) == [
        {"companyId": 2, "to": {"name": "n5"}}
    ]


def test_numbers_compare_as_numbers_and_exactly(queue: Queue) -> None:
    near = [(1 << 53) - 1, 1 << 53, (1 << 53) + 1, float(1 << 53), (1 << 63) - 1, float(1 << 63), -(1 << 63), 1, 1.0]
    push_values(queue, [*near, "1", True, None])
    assert values(queue, "payload.a = 1") == [1, 1.0]
    assert values(queue, "payload.a = 1.0") == [1, 1.0]
    assert values(queue, "payload.a in (1.0, 9007199254740993)") == [(1 << 53) + 1, 1, 1.0]
    for bound in near:
        for operator in ("=", "!=", "<", "<=", ">", ">="):
            condition = parse(f"payload.a {operator} {bound!r}")
            assert found(queue, condition) == reference(queue, condition), str(condition)


def test_text_compares_by_code_point(queue: Queue) -> None:
    words = ["", "A", "B", "Z", "a", "z", "é", "\uffff", "\U0001f600"]
    push_values(queue, [*reversed(words), 5, None])
    for place, word in enumerate(words):
        assert sorted(values(queue, f"payload.a < '{word}'")) == words[:place]
        assert sorted(values(queue, f"payload.a >= '{word}'")) == words[place:]
    assert values(queue, "payload.a in ('a', 'é', 'x')") == ["é", "a"]


def test_message_fields_of_text_compare_by_code_point(queue: Queue) -> None:
    keys = ["A", "B", "a", "é", "\U0001f600"]
    queue.push_many([Draft(key, key=key, group=key) for key in keys])
    queue.push("none")
    for name in ("key", "group"):
        assert found(queue, field(name) < "a") == ["A", "B"]
        assert found(queue, field(name) >= "é") == ["é", "\U0001f600"]
        assert found(queue, field(name).is_null()) == ["none"]
        assert found(queue, field(name) != "a") == ["A", "B", "é", "\U0001f600", "none"]


def test_booleans_compare_with_booleans_alone(queue: Queue) -> None:
    push_values(queue, WORDS_OF_BOOLEANS)
    assert values(queue, "payload.a = true") == [True]
    assert values(queue, "payload.a < true") == [False]
    assert values(queue, "payload.a in (true, false)") == [True, False]
    assert values(queue, "payload.a = 1") == [1]
    assert values(queue, "payload.a = 'true'") == ["true"]


def test_a_comparison_with_what_is_missing_or_of_another_type_is_false_and_its_negation_true(queue: Queue) -> None:
    others = [None, "5", True, [5], {"b": 5}, 4]
    push_values(queue, [5, *others])
    queue.push_many([Draft({}), Draft("text"), Draft([5]), Draft(None)])
    everything_else = [*({"a": other} for other in others), {}, "text", [5], None]
    assert found(queue, "payload.a = 5") == [{"a": 5}]
    for negated in ("payload.a != 5", "not payload.a = 5", "payload.a not in (5, 6)", "not (payload.a in (5))"):
        assert found(queue, negated) == everything_else
    assert found(queue, "payload.a < 5 or not payload.a < 5") == [{"a": 5}, *everything_else]
    assert found(queue, "payload.a not like '5'") == [{"a": 5}, *(one for one in everything_else if one != {"a": "5"})]


def test_null_is_what_is_missing_or_null(queue: Queue) -> None:
    pushed: list[Any] = [{"a": None}, {}, {"a": 0}, {"a": ""}, {"a": []}, {"a": {}}, [1], None]
    queue.push_many([Draft(one) for one in pushed])
    assert found(queue, "payload.a is null") == [{"a": None}, {}, [1], None]
    assert found(queue, "payload.a is not null") == [{"a": 0}, {"a": ""}, {"a": []}, {"a": {}}]
    assert found(queue, "payload is null") == [None]


def test_like_heeds_case_and_a_backslash_takes_the_meaning_from_what_follows(queue: Queue) -> None:
    push_values(
        queue, ["abc", "ABC", "a%c", "a_c", "a\\c", "ac", "a\nc", "a*c", "a[b]c", "aéc", "a\U0001f600c", 5, None]
    )
    assert values(queue, "payload.a like 'A%'") == ["ABC"]
    assert values(queue, "payload.a like 'a_c'") == ["abc", "a%c", "a_c", "a\\c", "a\nc", "a*c", "aéc", "a\U0001f600c"]
    assert values(queue, r"payload.a like 'a\%c'") == ["a%c"]
    assert values(queue, r"payload.a like 'a\_c'") == ["a_c"]
    assert values(queue, r"payload.a like 'a\\c'") == ["a\\c"]
    assert values(queue, "payload.a like 'a*c'") == ["a*c"]
    assert values(queue, r"payload.a like 'a[b]c'") == ["a[b]c"]
    assert values(queue, r"payload.a like '\a\bc'") == ["abc"]
    assert values(queue, "payload.a like '%'") == [
        *("abc", "ABC", "a%c", "a_c", "a\\c", "ac", "a\nc", "a*c", "a[b]c", "aéc", "a\U0001f600c")
    ]


def test_a_pattern_with_many_wildcards_is_answered_at_once(queue: Queue) -> None:
    push_values(queue, ["a" * 2_000, "a" * 2_000 + "b"])
    assert [len(value) for value in values(queue, "payload.a like '" + "%a" * 300 + "%b'")] == [2_001]


def test_paths_lead_through_objects_with_any_names_and_not_into_lists(queue: Queue) -> None:
    for name in NAMES:
        queue.push_many([Draft({name: {name: 1}}), Draft({name: [1, {name: 1}]}), Draft({name: 1})])
    for name in NAMES:
        assert found(queue, payload[name][name] == 1) == [{name: {name: 1}}], name
        assert found(queue, payload[name] == 1) == [{name: 1}], name
    queue.push([1, 2])
    assert found(queue, payload["0"]["0"] == 1) == [{"0": {"0": 1}}]
    assert found(queue, 'payload."0" = 1') == [{"0": 1}]


def test_the_payload_itself_can_be_compared(queue: Queue) -> None:
    queue.push_many([Draft(one) for one in (5, 5.0, "5", [5], {"a": 5}, True, None, b"5")])
    assert found(queue, "payload = 5") == [5, 5.0]
    assert found(queue, "payload in ('5', true)") == ["5", True]


def test_headers_are_found_by_their_names(queue: Queue) -> None:
    queue.push("a", headers={"trace-id": "x", "n": 1})
    queue.push("b", headers={"n": 2.5, "odd.name": True})
    queue.push("c")
    assert found(queue, "headers.\"trace-id\" = 'x'") == ["a"]
    assert found(queue, "headers.n > 0") == ["a", "b"]
    assert found(queue, 'headers."odd.name" = true') == ["b"]
    assert found(queue, "headers.n is null") == ["c"]


def test_message_fields_are_numbers_text_and_times(queue: Queue, clock: MovableClock) -> None:
    queue.push_many([Draft(n, priority=n, key=f"k{n}", group="g" if n else None) for n in range(3)])
    first, second = queue.reserve_many(2)
    queue.rollback(first, delay=hours(1))
    clock.advance(minutes(1))
    queue.push("later", delay=hours(2))
    now = clock.now()
    assert found(queue, "attempts = 1 and priority < 1") == [0]
    assert found(queue, f"id in ({first.message.id}, {second.message.id})") == [0, 1]
    assert found(queue, "status = 'error'") == [0]
    assert found(queue, "status != 'error'") == [1, 2, "later"]
    assert found(queue, "key like 'k_' and group = 'g'") == [1, 2]
    assert found(queue, "leased_by is not null") == [1]
    assert found(queue, "priority < 1.5 and priority > -1e300 and id < 1e300") == [0, 1, "later"]
    assert found(queue, "queue = 'mail' and kind = 'json' and priority = 2") == [2]
    assert found(queue, field("created_at") < now) == [0, 1, 2]
    assert found(queue, f"created_at >= '{now.isoformat()}'") == ["later"]
    assert found(queue, f"first_due_at > '{(now + hours(1)).isoformat()}'") == ["later"]
    assert found(queue, "last_attempt_at is null") == [2, "later"]
    assert found(queue, "leased_until > '2026-01-01T00:00:00+01:00'") == [1]
    assert found(queue, "not leased_until > '2026-01-01T00:00:00Z'") == [0, 2, "later"]


def test_a_message_that_waits_behind_another_of_its_group_has_its_own_due_time(
    queue: Queue, clock: MovableClock
) -> None:
    queue.push_many([Draft(n, group="g", delay=seconds(n)) for n in range(3)])
    clock.advance(minutes(1))
    queue.reserve()
    queue.reserve()
    due = field("due_at")
    assert found(queue, due.is_null()) == []
    assert found(queue, due < clock.now() - seconds(58)) == [1]
    assert [message.payload for message in queue.find(order="due_at")] == [1, 2, 0]


def test_a_stopped_or_dead_message_has_no_due_time(queue: Queue) -> None:
    queue.push_many([Draft("dead"), Draft("live")])
    dead = queue.reserve()
    assert dead is not None
    queue.bury(dead, "no use")
    assert found(queue, "due_at is null") == ["dead"]
    assert found(queue, "not due_at < '2999-01-01T00:00:00Z'") == ["dead"]


REFUSED = [
    "", "payload", "payload.a", "payload.a =", "payload.a = null", "payload.a == 1", "a = 1", "attempts.x = 1",
    "headers = 1", "headers.a.b = 1", "payload.a = 1 and", "payload.a = 1; drop table x", "payload.a = 'x",
    "payload.a = 1 or 1 = 1", "payload.a = (select 1)", "length(payload.a) = 1", "payload.a like 5", "due_at > 5",
    "payload.a like 'x\\'", "due_at > 'soon'", "due_at > '2026-01-01T00:00:00'", "due_at like '2026%'",
    "payload.a = 1e999", "payload.a = 9223372036854775808", "payload.a = '\0'", "payload.a in 1", "payload.0 = 1",
    "not", "()", "payload.a is 5", "payload.a = \"x\"", "payload.a = -- x\n 1", "payload.a = /* */ 1", "1 = payload.a",
    "(" * 20 + "id = 1" + " and id = 2 or id = 3)" * 20, " or ".join(["id = 1"] * 201), "id = 1" + " " * 10_000,
    "payload." + ".".join("a" * 65) + " = 1", "id in (" + ", ".join(["1"] * 1_001) + ")",
]  # fmt: skip


def test_a_condition_that_cannot_be_read_is_refused_before_anything_is_asked(db: Database, queue: Queue) -> None:
    queue.push({"a": 1})
    before = everything(db)
    for text in REFUSED:
        with pytest.raises(InvalidCondition):
            queue.find(text)
        with pytest.raises(InvalidCondition):
            queue.remove(where=text)
    for nothing in (5, b"payload.a = 1", ["payload.a = 1"]):
        with pytest.raises(InvalidCondition, match="condition must be text"):
            queue.find(nothing)  # type: ignore[arg-type]
    assert everything(db) == before


def test_the_largest_conditions_are_answered(queue: Queue) -> None:
    push_values(queue, [*range(10), "x", None])
    assert values(queue, " or ".join(f"payload.a = {n + 5}" for n in range(200))) == [5, 6, 7, 8, 9]
    assert values(queue, " and ".join(f"payload.a != {n + 5}" for n in range(200))) == [0, 1, 2, 3, 4, "x", None]
    assert values(queue, f"payload.a in ({', '.join(str(n + 5) for n in range(1_000))})") == [5, 6, 7, 8, 9]
    nested: Condition = payload.a == 3
    for level in range(7):
        nested = some((payload.a >= level) & nested, payload["a"].like("x%"))
    assert found(queue, ~~nested) == [{"a": "x"}]
    assert found(queue, ~nested) == reference(queue, ~nested)


def test_pages_in_any_order_miss_nothing_and_repeat_nothing(queue: Queue, clock: MovableClock) -> None:
    for n in range(12):
        queue.push(n, priority=n % 3, key=f"k{n % 5}-{n}" if n % 4 else None, delay=seconds(n % 2))
        clock.advance(seconds(1))
    queue.pop_many(1)
    for reservation in queue.reserve_many(3):
        queue.bury(reservation, "no use")
    for order in (
        "id",
        "-id",
        "priority",
        "-priority",
        "key",
        "-key",
        "due_at",
        "-due_at",
        "created_at",
        "-created_at",
    ):
        whole = queue.find("attempts < 9", order=order)
        pages, after = [], None
        while page := queue.find("attempts < 9", order=order, limit=4, after=after):
            assert len(page) <= 4
            pages += page
            after = page[-1]
        assert [one.id for one in pages] == [one.id for one in whole], order
        name, ascending = order.removeprefix("-"), not order.startswith("-")
        some_values = [value for one in whole if (value := getattr(one, name)) is not None]
        assert some_values == sorted(some_values, reverse=not ascending)
        assert all(getattr(one, name) is None for one in whole[len(some_values) :])
    assert len(queue.find(order="-id", after=queue.find()[-1].id)) == 10


def test_pages_have_messages_of_every_kind_in_any_order(queue: Queue, other: Queue, clock: MovableClock) -> None:
    push_every_kind(queue, other, clock)
    later = field("due_at") > clock.now()
    for where in (None, parse("status in ('new', 'error')"), later, ~later):
        chosen = list(range(20)) if where is None else sorted(reference(queue, where))
        for order in ("id", "due_at", "priority", "last_attempt_at", "group"):
            for way in ("", "-"):
                whole = queue.find(where, order=way + order, limit=7)
                while len(whole) % 7 == 0 and (page := queue.find(where, order=way + order, limit=7, after=whole[-1])):
                    whole += page
                assert sorted(one.payload for one in whole) == chosen, (where, way + order)
                known = [(value, one.id) for one in whole if (value := getattr(one, order)) is not None]
                assert known == sorted(known, reverse=way == "-"), (where, way + order)
                rest = [one.id for one in whole[len(known) :]]
                assert rest == sorted(rest, reverse=way == "-"), (where, way + order)


def push_every_kind(queue: Queue, other: Queue, clock: MovableClock) -> None:
    """Push messages that are first or later in their group, delayed, leased, stopped and dead.

    They have several priorities, and another queue gets messages before and after them.
    """
    other.push_many([Draft(n) for n in range(5)])
    for n in range(20):
        queue.push(n, priority=n % 3, group=f"g{n % 2}" if n % 5 < 2 else None, delay=seconds(n * 7 % 11))
    clock.advance(seconds(5))
    dead, *_ = queue.reserve_many(4)
    queue.bury(dead, "no use")
    stopped = next(one for one in queue.find(order="-id") if one.leased_by is None)
    queue.reschedule(stopped.id, due=None)
    other.push_many([Draft(n) for n in range(5)])


def test_a_queue_with_very_many_priorities_is_shown_in_the_order_of_due_times(
    queue: Queue, clock: MovableClock
) -> None:
    queue.push_many([Draft(n, priority=n, due=clock.now() - seconds(n)) for n in range(-20, 21)])
    assert [one.payload for one in queue.find(order="due_at", limit=5)] == [20, 19, 18, 17, 16]
    assert [one.payload for one in queue.find(order="-due_at", limit=5)] == [-20, -19, -18, -17, -16]


def test_an_order_that_messages_do_not_have_is_refused(queue: Queue) -> None:
    queue.push("a")
    for order in ("payload.a", "colour", "", "--id", 5):
        with pytest.raises(ConfigurationError, match="ordered by"):
            queue.find(order=order)  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="give the last message"):
        queue.find(order="priority", after=1)
    for order in ("priority", "id"):
        with pytest.raises(ConfigurationError, match="last message"):
            queue.find(order=order, after="x")  # type: ignore[arg-type]
        with pytest.raises(ConfigurationError, match="last message"):
            queue.find(order=order, after=1 << 63)


def test_messages_are_counted_by_condition_and_by_the_values_of_a_field(queue: Queue) -> None:
    push_values(queue, [1, 1.0, 2, "1", None, [1], {"b": 1}, "1"])
    queue.push_many([Draft("x", key="k", headers={"h": "y"}), Draft({}, priority=3)])
    assert queue.count("payload.a = 1") == 2
    assert queue.count("payload.a is null") == 3
    assert queue.count("payload.a = 'none'") == 0
    assert queue.count(by="payload.a") == {1: 2, 2: 1, "1": 2, None: 3, "[1]": 1, '{"b":1}': 1}
    assert queue.count("payload.a > 0", by="payload.a") == {1: 2, 2: 1}
    assert queue.count(by="priority") == {0: 9, 3: 1}
    assert queue.count(by="key") == {None: 9, "k": 1}
    assert queue.count(by="headers.h") == {None: 9, "y": 1}
    assert queue.count(by=payload.a) == queue.count(by="payload.a")
    assert list(queue.count(by="created_at").values()) == [10]
    with pytest.raises(InvalidCondition):
        queue.count(by="colour")


def test_values_at_odd_names_are_counted_exactly(queue: Queue) -> None:
    name = 'quo"ted'
    pushed = [0.1, 1e23, (1 << 63) - 1, True, "é", [1, True], {"b": None}, None, 5e-324]
    queue.push_many([Draft({name: value}) for value in pushed])
    expected = [*pushed[:5], "[1,true]", '{"b":null}', None, 5e-324]
    assert queue.count(by=payload[name]) == dict.fromkeys(expected, 1)


def test_no_more_than_ten_thousand_are_counted_unless_all_are_asked_for(queue: Queue, crowd: int) -> None:
    number = min(crowd, 10_050)
    queue.push_many([Draft({"a": n % 2}) for n in range(number)])
    counted = queue.count("payload.a >= 0")
    assert (counted, counted.capped) == (min(number, 10_000), number > 10_000)
    assert str(counted) == ("10000+" if number > 10_000 else str(number))
    exact = queue.count("payload.a >= 0", exact=True)
    assert (exact, exact.capped) == (number, False)
    by = queue.count(by="payload.a")
    assert by.capped == (number > 10_000)
    assert queue.count(by="payload.a", exact=True) == {0: (number + 1) // 2, 1: number // 2}
    assert queue.count() == number


def reference(queue: Queue, condition: Condition) -> list[Any]:
    """Return the payloads of the records for which a condition holds, according to the in-memory store."""
    database = queue.database
    records = database.run(lambda: database.store.messages.find(Query(queue.name, by_id=True, limit=1_000)))
    wanted = {record.id for record in records if holds(condition, record)}
    return [message.payload for message in queue.find(limit=1_000) if message.id in wanted]


NUMBERED = count()


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(payloads, min_size=1, max_size=8), st.lists(conditions, min_size=1, max_size=8))
def test_any_condition_on_any_payloads_finds_what_the_reference_finds(
    db: Database, pushed: list[Any], asked: list[Condition]
) -> None:
    queue = db.queue(f"mail-{next(NUMBERED)}")
    queue.push_many(
        [
            Draft(one, priority=n % 3, key=WORDS[n] or None, group="g" if n == 2 else None)
            for n, one in enumerate(pushed)
        ]
    )
    queue.reserve(lease=minutes(1))
    records = db.run(lambda: db.store.messages.find(Query(queue.name, by_id=True)))
    for condition in asked:
        assert parse(str(condition)) == condition
        ids = [message.id for message in queue.find(condition)]
        assert ids == [record.id for record in records if holds(condition, record)], str(condition)
        assert queue.count(condition) == len(ids)


def test_every_number_compares_with_every_number_as_in_python(queue: Queue) -> None:
    push_values(queue, list(NUMBERS))
    for number in NUMBERS:
        assert values(queue, f"payload.a = {number!r}") == [one for one in NUMBERS if one == number]
        assert values(queue, f"payload.a < {number!r}") == [one for one in NUMBERS if one < number]
        assert values(queue, f"payload.a >= {number!r}") == [one for one in NUMBERS if one >= number]
