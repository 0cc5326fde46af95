"""Payloads become columns and payloads again: nothing is lost, and what a column cannot hold fails by itself."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T

import duerow
from duerow import Draft, Frame, Pipeline, Sink, spark
from duerow.encryption import Encryption
from duerow.errors import ConfigurationError
from duerow.spark.fast_check import glance
from duerow.spark.schema import check_fits, frame_schema, schema_of
from duerow.spark.value_checks import checker
from duerow.testing.conformance.fixtures import Place
from duerow.testing.contents import everything
from tests.spark.payloads import Address, Colour, Counted, Line, Order, Size

ALIKE = 60
"""Random values of each type in one batch."""


text = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=8)
decimals = st.decimals(-(10**19), 10**19, places=18, allow_nan=False) | st.just(Decimal("1.10"))
moments = st.datetimes(
    datetime(1900, 1, 1),
    datetime(9000, 1, 1),
    timezones=st.sampled_from([UTC, timezone(timedelta(hours=5, minutes=30))]),
)
lines = st.builds(Line, item=text, price=decimals, tags=st.sets(text, max_size=3))
orders = st.builds(
    Order,
    number=st.integers(-(1 << 63), (1 << 63) - 1),
    total=decimals,
    placed=moments,
    local=st.datetimes(datetime(1900, 1, 1), datetime(9000, 1, 1)),
    day=st.dates(date(1, 1, 1), date(9999, 12, 31)),
    at=st.times(),
    took=st.timedeltas(timedelta(0), timedelta(days=400)),
    id=st.uuids(),
    colour=st.sampled_from(Colour),
    size=st.sampled_from(Size),
    kind=st.sampled_from(["a", "b"]),
    paid=st.booleans(),
    rate=st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from([-0.0, 1e23, 5e-324]),
    name=st.none() | text,
    content=st.binary(max_size=5),
    lines=st.lists(lines, max_size=2),
    counts=st.dictionaries(text, st.none() | st.integers(-9, 9), max_size=3),
    extra=st.fixed_dictionaries({"note": text}, optional={"weight": st.floats(-1, 1)}),
    nested=st.lists(st.lists(st.integers(-9, 9), max_size=2), max_size=2),
)
addresses = st.builds(
    Address,
    Street=text,
    since=st.none() | st.dates(),
    score=st.decimals(-(10**9), 10**9, places=5, allow_nan=False),
    blob=text.map(str.encode),
)


def drawn(values: st.SearchStrategy[Any], many: int) -> list[Any]:
    """Many random values at once, since each batch is a job of Spark's."""
    found: list[Any] = []

    @settings(max_examples=many, phases=[Phase.generate], database=None, suppress_health_check=list(HealthCheck))
    @given(values)
    def draw(value: Any) -> None:
        found.append(value)

    draw()
    return found


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)  # what a payload becomes is no matter of the database
def test_typed_payloads_go_through_columns_and_come_back_the_same_also_encrypted(
    session: SparkSession, place: Place
) -> None:
    def same(frame: DataFrame) -> DataFrame:
        return frame

    random: dict[str, tuple[Any, list[Any]]] = {
        "orders": (Order, drawn(orders, ALIKE)),
        "addresses": (Address, drawn(addresses, ALIKE)),
    }
    stations = [
        Sink("orders", print, payload=Order),
        Sink("addresses", print, payload=Address),
        Frame("new.orders", same, "orders", payload=Order),
        Frame("new.addresses", same, "addresses", payload=Address, rowwise=True),
    ]
    place.settings["encryption"] = Encryption([Encryption.new_key()])
    with duerow.connect(place.url, **place.settings) as db:
        for queue, (of, values) in random.items():
            drafts = [Draft(value, headers={"n": n}) for n, value in enumerate(values)]
            db.queue(f"new.{queue}", payload=of).push_many(drafts)

        spark.step(Pipeline("p", stations), place.url, session, **place.settings)

        records = everything(db)
        assert {record.kind for record in records} == {"Order+encrypted", "Address+encrypted"}
        assert {record.queue for record in records} == {"orders", "addresses"}
        for queue, (of, values) in random.items():
            arrived = {m.headers["n"]: m.payload for m in db.queue(queue, payload=of).find(limit=1_000)}
            assert arrived == dict(enumerate(values))
            if of is Order:
                assert [repr(arrived[n].rate) for n in range(len(values))] == [repr(one.rate) for one in values]


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_a_payload_that_does_not_fit_its_columns_is_buried_alone_with_the_reason(
    session: SparkSession, place: Place, db: duerow.Database
) -> None:
    bad = [
        ({"n": "one"}, "payload.n is 'one', not of type int"),
        ({"n": 1 << 40}, "not of type int"),
        ([1], "payload is [1], not an object"),
        ({"n": 1, "at": "soon"}, "payload.at is 'soon', not a timestamp"),
        ({"n": 1, "some": [{"x": True}]}, "payload.some[0].x is True, not a number"),
        ({"n": 1, "price": "1.234"}, "payload.price is '1.234', not a decimal of 3 digits and 2 after the point"),
        (b"bytes", "not an object"),
        ({"n": 1, "day": "20260101"}, "payload.day is '20260101', not a date such as 2026-03-01"),
    ]
    ids = [db.queue("a").push(payload).id for payload, _ in bad]
    good = [{"n": 5, "at": "2026-01-01T00:00:00Z", "some": [{"x": 1}, None], "price": "1.23", "more": 1}, {"n": None}]
    db.queue("a").push_many([Draft(payload) for payload in good])
    schema = "n int, at timestamp, some array<struct<x double>>, price decimal(5, 2), day date"
    station = Frame("a", lambda frame: frame, "b", schema=schema)

    tallies = spark.run(Pipeline("p", [station], outputs=["b"]), place.url, session, **place.settings)

    dead = {message.id: message.last_error for message in db.queue("a").find()}
    assert sorted(dead) == ids
    for id, (_, reason) in zip(ids, bad, strict=True):
        assert reason in str(dead[id])
    some = [{"x": 1.0}, None]
    assert sorted((m.payload for m in db.queue("b").find()), key=str) == [
        {"n": 5, "at": "2026-01-01T00:00:00.000000Z", "some": some, "price": "1.23", "day": None},
        {"n": None, "at": None, "some": None, "price": None, "day": None},
    ]
    assert tallies["a"].settled == 2


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_a_declared_integer_beyond_64_bits_is_buried_alone_with_the_reason(
    session: SparkSession, place: Place, db: duerow.Database
) -> None:
    counts = db.queue("a", payload=Counted)
    counts.push_many([Draft(Counted(1, "costs $int")), Draft(Counted(1 << 64, "")), Draft(Counted(2, ""))])
    station = Frame("a", lambda frame: frame, "b", payload=Counted)

    spark.run(Pipeline("p", [station], outputs=["b"]), place.url, session, **place.settings)

    (dead,) = db.queue("a").find()
    assert "payload.n is 18446744073709551616, an integer beyond 64 bits" in str(dead.last_error)
    assert [message.payload["n"] for message in db.queue("b").find()] == [1, 2]


# Without Spark at work.


def test_what_no_column_can_hold_is_refused_with_the_path_to_it() -> None:
    @dataclass
    class Tree:
        left: Tree | None

    @dataclass
    class Mixed:
        some: list[int | str]

    @dataclass
    class Reserved:
        _id: int

    @dataclass
    class Twice:
        name: str
        Name: str

    Tree.__annotations__["left"] = Tree | None
    for of, why in (
        (Mixed, r"Mixed.some\[\] has no column, since it can be of several types; pass schema="),
        (Tree, "Tree.left has no column, since Tree contains itself"),
        (Reserved, "a field is called '_id', which is the name of a column in all frames"),
        (Twice, "'name' and 'Name' are the same column to Spark"),
    ):
        with pytest.raises(ConfigurationError, match=why):
            schema_of(of)
    with pytest.raises(ConfigurationError, match="frame 'a': the only field of its payloads is called 'payload'"):
        frame_schema(Frame("a", print, "b", schema=T.StructType([T.StructField("payload", T.StringType())])))


def test_a_result_that_does_not_fit_the_next_queue_is_told_by_its_columns() -> None:
    station = Frame("a", print, "orders")
    expected = schema_of(Order)
    columns = {one.name: one for one in expected}
    fits = T.StructType([*columns.values()])
    check_fits(station, "orders", expected, fits)
    check_fits(station, "orders", expected, None)
    for changed, why in (
        (columns | {"number": T.StructField("number", T.StringType())}, "payload.number is string, and bigint is"),
        (
            columns | {"nested": T.StructField("nested", T.ArrayType(T.ArrayType(T.DoubleType())))},
            r"payload.nested\[\]\[\] is double, and bigint is expected",
        ),
        ({name: one for name, one in columns.items() if name != "id"}, "payload.id is missing"),
    ):
        with pytest.raises(ConfigurationError, match=f"frame 'a': its result does not fit .*'orders' declares: {why}"):
            check_fits(station, "orders", expected, T.StructType([*changed.values()]))


@pytest.mark.parametrize(
    ("of", "fit", "unfit"),
    [
        (T.LongType(), [(1 << 63) - 1, -(1 << 63)], [1 << 63, 1.0, True, "1", {"$int": "9223372036854775808"}]),
        (
            T.DecimalType(38, 18),
            ["1e-18", Decimal("-1E+19"), 10**19, "0", "0E+99"],
            ["1e-19", 10**20, True, "x", "NaN", "1_0", " 1", "1,5", [0, [1], 0]],
        ),
        (
            T.TimestampType(),
            ["2026-01-01T00:00:00+02:00"],
            ["2026-01-01T00:00:00", "20260101T000000Z", "2026-01-01T00:00:00,5Z", "x", 1],
        ),
        (T.DateType(), ["2026-01-01"], ["20260101", "2026-W01-1", "2026-01-01T00:00:00Z", "2026-02-30", "20000", 1]),
        (T.TimestampNTZType(), ["2026-01-01T00:00:00"], ["2026-01-01T00:00:00Z"]),
        (T.MapType(T.StringType(), T.DateType()), [{}, {"a": None}, {"a": "2026-01-01"}], [{"a": "x"}, []]),
        (T.BinaryType(), ["", "YQ=="], ["é", "a"]),
    ],
    ids=str,
)
def test_what_a_column_holds_is_what_spark_reads(of: Any, fit: list[Any], unfit: list[Any]) -> None:
    check = checker(of, zoned=True)
    assert [value for value in fit if check(value) is not None] == []
    assert [value for value in unfit if check(value) is None] == []


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.sampled_from([127, 128, -129, 1 << 31, 1 << 63, -(1 << 63), 1.0, 2.5, 1e23, "", "1", "2026-01-01"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["a", "B c", "n"]), inner, max_size=3),
    max_leaves=6,
)
plain_types = st.recursive(
    st.sampled_from([T.LongType(), T.IntegerType(), T.ByteType(), T.DoubleType(), T.StringType(), T.BooleanType()]),
    lambda inner: st.one_of(
        inner.map(T.ArrayType),
        inner.map(lambda of: T.MapType(T.StringType(), of)),
        st.lists(inner, min_size=1, max_size=3).map(
            lambda all: T.StructType(
                [T.StructField(name, of) for name, of in zip(["a", "B c", "n"], all, strict=False)]
            )
        ),
    ),
    max_leaves=4,
)


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(of=plain_types, value=json_values)
def test_what_is_seen_to_fit_at_a_glance_fits_when_it_is_looked_at_closely(of: Any, value: Any) -> None:
    if glance(of)(msgspec.json.encode(value).decode()):
        assert value is None or checker(of)(value) is None


def test_most_payloads_are_seen_to_fit_at_a_glance() -> None:
    columns = [("n", T.LongType()), ("x", T.DoubleType()), ("a", T.ArrayType(T.StringType())), ("b c", T.ByteType())]
    of = T.StructType([T.StructField(name, kind) for name, kind in columns])
    assert all(map(glance(of), ['{"n":-1,"x":2,"a":["x",null,{}],"b c":127}', "{}", '{"n":null,"x":1e23,"y":[{}]}']))
    assert not any(map(glance(of), ['{"b c":128}', '{"n":1.0}', "[]", '{"a":5}', '{"x":"1"}']))
    assert not glance(T.StructType([T.StructField("at", T.TimestampType())]))("{}")
