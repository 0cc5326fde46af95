"""Declared types beyond what every store is asked for: pydantic's, and those with ideas of their own."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from enum import Enum
from typing import Any, Optional
from uuid import UUID
from zoneinfo import ZoneInfo

import msgspec
import pydantic
import pydantic.dataclasses
import pytest
from hypothesis import given
from hypothesis import strategies as st

import duerow
from duerow.errors import CodecError, ConfigurationError
from duerow.payload.codec import JSON, Encoded
from duerow.payload.types import Declared, encode


def there_and_back(value: Any) -> Any:
    declared = Declared(type(value))
    encoded = declared.encode(value)
    return declared.decode(encoded.kind, encoded.text)


class Colour(Enum):
    RED = "red"


class Line(pydantic.BaseModel):
    price: Decimal
    count: int = 1


class Order(pydantic.BaseModel):
    id: UUID
    placed: datetime
    serial: int
    colour: Colour
    lines: list[Line] = []
    note: Optional[str] = pydantic.Field(default=None, alias="remark")  # noqa: UP045 - as in older code


@pydantic.dataclasses.dataclass
class Parcel:
    weight: Decimal
    sent: datetime


class Strict(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(strict=True, extra="forbid")
    at: datetime
    serial: int


DECIMALS = st.decimals(allow_nan=False, allow_infinity=False)


@given(
    st.builds(
        Order,
        id=st.uuids(),
        placed=st.datetimes(timezones=st.just(UTC)),
        serial=st.integers(-(1 << 100), 1 << 100),
        colour=st.sampled_from(Colour),
        lines=st.lists(st.builds(Line, price=DECIMALS, count=st.integers()), max_size=3),
    )
)
def test_a_pydantic_model_comes_back_with_its_types(order: Order):
    back = there_and_back(order)
    assert back == order
    assert type(back) is Order
    assert [type(line) for line in back.lines] == [Line] * len(order.lines)
    assert [str(line.price) for line in back.lines] == [str(line.price) for line in order.lines]


def test_a_pydantic_model_with_aliases_comes_back():
    order = Order(id=UUID(int=1), placed=datetime(2026, 1, 1, tzinfo=UTC), serial=1, colour=Colour.RED, remark="soon")
    assert there_and_back(order).note == "soon"


def test_a_strict_pydantic_model_takes_what_it_has_written():
    for serial in (1, 1 << 80):
        value = Strict(at=datetime(2026, 1, 1, tzinfo=UTC), serial=serial)
        assert there_and_back(value) == value


def test_a_pydantic_dataclass_comes_back():
    parcel = Parcel(weight=Decimal("1.50"), sent=datetime(2026, 1, 1, tzinfo=UTC))
    assert there_and_back(parcel) == parcel


def test_a_pydantic_payload_that_does_not_fit_cannot_be_read_with_the_reason():
    with pytest.raises(CodecError, match=r"(?s)does not fit Strict.*at.*Field required.*upgrades="):
        Declared(Strict).decode("Strict", '{"serial":1}')


def test_a_pydantic_model_that_would_not_come_back_is_refused():
    changed = Strict(at=datetime(2026, 1, 1, tzinfo=UTC), serial=1).model_copy(update={"serial": "one"})
    with pytest.raises(CodecError, match="serial"):
        Declared(Strict).encode(changed)


def test_a_queue_of_a_pydantic_model_hands_out_models():
    queue = duerow.connect("memory://").queue("orders", payload=Parcel)
    parcel = Parcel(weight=Decimal("1.50"), sent=datetime(2026, 1, 1, tzinfo=UTC))
    queue.push(parcel)
    seen: list[Any] = []
    duerow.Worker(queue, lambda message: seen.append(message.payload)).run(until="empty")
    assert seen == [parcel]


class Tree(msgspec.Struct):
    name: str
    parts: list[Tree] = []


def test_a_type_may_hold_itself():
    tree = Tree("a", [Tree("b"), Tree("c", [Tree("d")])])
    assert there_and_back(tree) == tree


def test_a_value_nested_too_deep_is_refused():
    tree = Tree("a")
    for _ in range(40):
        tree = Tree("a", [tree])
    with pytest.raises(CodecError, match="more than 64 deep"):
        Declared(Tree).encode(tree)


def test_integers_of_any_size_come_back_and_are_kept_as_text():
    @dataclass
    class Number:
        n: int

    for n in (0, (1 << 63) - 1, 1 << 63, -(1 << 63), -(1 << 63) - 1, 1 << 4000):
        assert there_and_back(Number(n)) == Number(n)
    assert Declared(Number).encode(Number(1 << 64)).text == '{"n":{"$int":"18446744073709551616"}}'
    with pytest.raises(CodecError):
        Declared(Number).encode(Number(1 << 40_000))


def test_a_moment_that_a_zone_has_twice_comes_back_as_the_same_moment():
    @dataclass
    class Call:
        at: datetime

    zagreb = ZoneInfo("Europe/Zagreb")
    for fold in (0, 1):
        call = Call(datetime(2026, 10, 25, 2, 30, tzinfo=zagreb, fold=fold))
        back = there_and_back(call)
        assert back.at.timestamp() == call.at.timestamp()


def test_a_type_without_equality_comes_back():
    @dataclass(eq=False)
    class Plain:
        a: int
        b: list[int] = field(default_factory=list)

    back = there_and_back(Plain(1, [2]))
    assert (back.a, back.b) == (1, [2])
    declared: Any = Declared(Plain)
    with pytest.raises(CodecError, match=r"payload\.b is \(1,\)"):
        declared.encode(Plain(1, (1,)))  # type: ignore[arg-type]


def test_a_value_of_a_derived_type_is_refused_for_it_would_come_back_as_its_base():
    class Base(msgspec.Struct):
        a: int

    class Derived(Base):
        b: int

    @dataclass
    class Holder:
        base: Base

    with pytest.raises(CodecError, match="declared to be Base"):
        Declared(Base).encode(Derived(1, 2))
    with pytest.raises(ConfigurationError, match="cannot be declared"):
        Declared(Holder)  # names that only this function knows cannot be resolved
    derived: Any = Derived(1, 2)
    with pytest.raises(CodecError, match="would come back as"):
        Declared(Whole).encode(Whole(derived))


class Part(msgspec.Struct):
    a: int


class Longer(Part):
    b: int = 0


@dataclass
class Whole:
    base: Any
    part: Part | None = None


def test_a_part_of_a_derived_type_is_refused():
    with pytest.raises(CodecError, match=r"payload\.part is Longer\(a=1, b=2\), which would come back as Part\(a=1\)"):
        Declared(Whole).encode(Whole(None, Longer(1, 2)))


def test_a_dataclass_with_a_model_in_it_is_refused_with_advice():
    @dataclass
    class Mixed:
        line: Line

    Mixed.__annotations__["line"] = Line
    with pytest.raises(ConfigurationError, match=r"Mixed\.line is of type .*Line.*declare a pydantic model"):
        Declared(Mixed)


def test_an_object_of_a_declarable_type_is_encoded_as_that_where_its_queue_is_not_at_hand():
    assert encode(Part(1)) == Encoded("Part", '{"a":1}')
    assert encode({"a": 1}) == Encoded(JSON, '{"a":1}')
    assert encode(Encoded("Part", "x")) == Encoded("Part", "x")
    for unfit in (Decimal(1), duerow.Commit(), duerow.Draft(1)):
        with pytest.raises(CodecError, match=r"declare the type: queue\(…, payload=…\)"):
            encode(unfit)
    with pytest.raises(ConfigurationError, match="a declared type must be"):
        Declared(duerow.Message)


def test_an_undeclared_queue_refuses_what_would_have_to_be_declared():
    queue = duerow.connect("memory://").queue("orders")
    with pytest.raises(CodecError, match=r"declare the type: queue\(…, payload=…\)"):
        queue.push(Part(1))
    assert queue.count() == 0


def test_upgrades_are_tried_in_their_order_and_the_first_that_takes_the_payload_decides():
    older = msgspec.defstruct("Part", [("b", int)])
    declared = Declared(Part, {older: lambda old: Part(old.b), "Part": lambda plain: Part(-1)})
    assert declared.decode("Part", '{"b":2}') == Part(2)
    assert declared.decode("Part", '{"c":2}') == Part(-1)
    assert declared.decode("Part", '{"a":2}') == Part(2)


def test_an_upgrade_is_given_bytes_and_large_integers_as_they_were():
    seen: list[Any] = []
    declared = Declared(Part, {"bytes": lambda raw: seen.append(raw), "Old": lambda plain: seen.append(plain)})
    for kind, text in [("bytes", '"YQ=="'), ("Old", '{"n":{"$int":"18446744073709551616"}}')]:
        with pytest.raises(CodecError, match="could not be upgraded"):
            declared.decode(kind, text)
    assert seen == [b"a", {"n": 1 << 64}]


@pytest.mark.parametrize("text", ['{"a":{"$int":"x"}}', '{"a":{"$int":1}}', '{"$int":"1"}', "nonsense", "[" * 5000])
def test_text_that_is_none_of_ours_cannot_be_read_and_breaks_nothing(text: str):
    with pytest.raises(CodecError):
        Declared(Part).decode("Part", text)
    with pytest.raises(CodecError):
        Declared(Part, {"Part": lambda plain: plain["b"]}).decode("Part", text)


class Priced(msgspec.Struct):
    total: Decimal


def test_stations_hand_on_declared_values_with_their_types():
    seen: list[Any] = []
    total = duerow.Relay(
        "orders", lambda message: Priced(sum(line.price for line in message.payload.lines)), to="totals", payload=Order
    )
    keep = duerow.Sink("totals", lambda message: seen.append(message.payload), payload=Priced)
    pipeline = duerow.Pipeline("prices", [total, keep])
    db = duerow.connect("memory://")
    order = Order(
        id=UUID(int=1),
        placed=datetime(2026, 1, 1, tzinfo=UTC),
        serial=1,
        colour=Colour.RED,
        lines=[Line(price=Decimal("1.10")), Line(price=Decimal("2.20"))],
    )
    db.queue("orders", payload=Order).push(order)
    pipeline.run(db, until="empty")
    assert seen == [Priced(Decimal("3.30"))]


def test_a_station_cannot_declare_what_cannot_be_declared():
    with pytest.raises(ConfigurationError, match="a declared type must be a dataclass"):
        duerow.Sink("orders", print, payload=int)
