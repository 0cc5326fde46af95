"""An index of a payload field changes only how fast messages are found, whatever the payloads are."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from duerow import Database, Draft, Queue
from duerow.conditions.model import every, some
from duerow.errors import ConfigurationError
from duerow.store import Entry, Query
from duerow.stores.memory.conditions import holds
from duerow.testing.clock import hours
from duerow.testing.conditions import NUMBERS, WORDS
from duerow.where import Condition, payload

_values = st.sampled_from(NUMBERS) | st.sampled_from(WORDS) | st.booleans() | st.integers(-3, 3)
_long = st.sampled_from(["x" * 199, "x" * 200, "x" * 201, "é" * 200 + "a", "é" * 200 + "b", "\U0001f600" * 3000])
_odd: st.SearchStrategy[Any] = st.none() | st.lists(_values, max_size=2) | st.just({"a": 1}) | _long
_operators = st.sampled_from(["__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"])
_fields = st.sampled_from([payload.n, payload.t, payload.b, payload.to.n])
_leaves: st.SearchStrategy[Condition] = st.builds(
    lambda path, operator, value: getattr(path, operator)(value), _fields, _operators, _values | _long
) | st.builds(lambda path, values: path.in_(values), _fields, st.lists(_values, max_size=3))
_conditions: st.SearchStrategy[Condition] = st.recursive(
    _leaves,
    lambda inner: st.one_of(
        st.lists(inner, min_size=2, max_size=3).map(lambda terms: every(*terms)),
        st.lists(inner, min_size=2, max_size=3).map(lambda terms: some(*terms)),
        inner.map(lambda term: ~term),
    ),
    max_leaves=4,
)


@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(st.tuples(_values | _odd, _values | _odd, _values | _odd), min_size=1, max_size=6),
    st.lists(_conditions, min_size=1, max_size=6),
)
def test_conditions_find_the_same_with_indexes(
    db: Database, rows: list[tuple[Any, Any, Any]], asked: list[Condition]
) -> None:
    indexed = {"n": int, "t": str, "b": bool, "to.n": float}
    queue = db.queue("mail", indexed=indexed)
    queue.declare()
    queue.purge("mail")
    queue.push_many([Draft({"n": n, "t": t, "b": b, "to": {"n": n}}) for n, t, b in rows])
    queue.push_many([Draft(None), Draft({}), Draft([1]), Draft({"n": {"n": 1}, "to": 5}), Draft("n")])
    records = db.run(lambda: db.store.messages.find(Query(queue.name, by_id=True)))
    for condition in asked:
        ids = [message.id for message in queue.find(condition)]
        assert ids == [record.id for record in records if holds(condition, record)], str(condition)
        assert queue.count(condition) == len(ids)


def test_every_number_is_found_by_its_index_as_without(db: Database) -> None:
    queue = db.queue("mail", indexed={"a": float})
    queue.declare()
    queue.push_many([Draft({"a": number}) for number in NUMBERS])
    for number in NUMBERS:
        for name in ("=", "<", "<=", ">", ">="):
            found = [message.payload["a"] for message in queue.find(f"payload.a {name} {number!r}")]
            assert found == [one for one in NUMBERS if _compares(one, name, number)]


def _compares(one: float, operator: str, other: float) -> bool:
    return {"=": one == other, "<": one < other, "<=": one <= other, ">": one > other, ">=": one >= other}[operator]


def test_changes_by_an_indexed_field_change_the_same_messages(db: Database) -> None:
    queue = db.queue("mail", indexed={"companyId": int, "to.city": str})
    created = queue.declare().created
    queue.push_many([Draft({"companyId": n % 3, "to": {"city": f"c{n}"}}) for n in range(9)])
    other = db.queue("billing")
    other.push({"companyId": 1})
    assert queue.edit(where="payload.companyId = 1", patch={"companyId": 7}).count == 3
    assert queue.count("payload.companyId = 7") == 3
    assert queue.count("payload.companyId = 7", by="payload.to.city") == {"c1": 1, "c4": 1, "c7": 1}
    assert queue.remove(where="payload.to.city = 'c4' or payload.companyId > 5").count == 3
    assert other.count("payload.companyId = 1") == 1
    declaration = db.queue("mail", indexed={"companyId": float}).declare()
    assert (declaration.created, len(declaration.dropped)) == ((), len(created) // 2)
    assert db.queue("mail").declare(dry_run=True).dropped == db.queue("mail").declare().dropped
    assert queue.count("payload.companyId = 2") == 3


def test_what_cannot_be_indexed_is_refused_at_once(db: Database, queue: Queue) -> None:
    wrong: list[Any] = [
        *({"a": list}, {"a": "int"}, {"a": None}, ["a"], {"": int}, {"a..b": int}, {'a"': int}, {"é": int}),
        *({5: int}, {"a" * 201: int}, {f"f{n}": int for n in range(17)}),
    ]
    for indexed in wrong:
        with pytest.raises(ConfigurationError, match="index"):
            db.queue("mail", indexed=indexed)


def test_no_payload_makes_a_push_into_an_indexed_queue_fail(db: Database) -> None:
    """Also what no codec of ours writes, but another program may."""
    fields = {"n": int, "t": str, "b": bool, "o.n": float}
    queue = db.queue("mail", indexed=fields)
    queue.declare()
    deep = '{"o":' * 60 + '{"n":5}' + "}" * 60
    values = [
        "1e400",
        "-1e400",
        "1e-400",
        "-0",
        "9" * 5000,
        "0." + "1" * 5000,
        "1e999999",
        '"' + "\U0001f600" * 50_000 + '"',
    ]
    odd = ["[]", "[[5]]", '{"n":5}', "null", "true", '"\\ud83d\\ude00"', '""', '"\\\\"']
    texts = [f'{{"n":{value},"t":{value},"b":{value},"o":{{"n":{value}}}}}' for value in (*values, *odd)]
    texts += [deep, "5", "[]", "null", '""', "{}", '{"n":6,"n":7}', '{"o":5}', '{"o":[{"n":5}]}', "1e400"]
    entries = [Entry("mail", None, "json", text, None, None, None) for text in texts]
    assert len(db.run(lambda: db.store.messages.push(entries, "ignore"))) == len(texts)
    for entry in entries:
        db.run(lambda entry=entry: db.store.messages.push([entry], "ignore"))  # type: ignore[misc]
    assert queue.count() == 2 * len(texts)
    assert queue.count("payload.n = 5") == queue.count("payload.n = 5 or payload.n = -7") == 0
    assert queue.reschedule(where="payload.t = ''", delay=hours(1)).count == 2
    assert len(queue.reserve_many(3)) <= 3
