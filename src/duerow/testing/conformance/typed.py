"""A typed queue returns values of the declared type, and buries payloads that do not fit, with the reason."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum, IntEnum
from typing import Any
from uuid import UUID

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typing_extensions import TypedDict

from duerow import Database, Draft, Move
from duerow.errors import CodecError, ConfigurationError
from duerow.settlement import decide
from duerow.store import Entry
from duerow.testing.clock import MovableClock, hours, minutes
from duerow.testing.contents import everything

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)
ZONES = st.builds(timezone, st.integers(-14 * 60, 14 * 60).map(lambda count: timedelta(minutes=count)))


class Colour(Enum):
    """An enumeration with text values."""

    RED = "red"
    BLUE = "blue"


class Size(IntEnum):
    """An enumeration with numbers as values."""

    SMALL = 1
    LARGE = 2


class Address(msgspec.Struct, frozen=True):
    """A Struct within a dataclass."""

    street: str
    number: int | None = None


@dataclass(frozen=True)
class Item:
    """A dataclass within a dataclass."""

    price: Decimal
    count: int
    colour: Colour
    size: Size = Size.SMALL


@dataclass
class Order:
    """A type with every kind of field that can be declared."""

    id: UUID
    placed: datetime
    day: date
    patience: timedelta
    serial: int
    total: Decimal
    weight: float
    picture: bytes
    items: list[Item]
    to: Address | None
    tags: frozenset[str]
    span: tuple[int, float]
    counts: dict[int, bool]
    extra: dict[str, Any] = field(default_factory=dict)


class Parcel(TypedDict):
    """A dict whose members are declared."""

    weight: Decimal
    sent: datetime


class Small(msgspec.Struct):
    """The smallest type that can be declared."""

    a: int


ITEMS = st.builds(
    Item,
    price=st.decimals(allow_nan=False, allow_infinity=False),
    count=st.integers(),
    colour=st.sampled_from(Colour),
    size=st.sampled_from(Size),
)
ORDERS = st.builds(
    Order,
    id=st.uuids(),
    placed=st.datetimes(timezones=ZONES),
    day=st.dates(),
    patience=st.timedeltas(timedelta(days=-9_000), timedelta(days=9_000)),
    serial=st.integers(-(1 << 200), 1 << 200),
    total=st.decimals(allow_nan=False, allow_infinity=False),
    weight=st.floats(allow_nan=False, allow_infinity=False),
    picture=st.binary(max_size=20),
    items=st.lists(ITEMS, max_size=3),
    to=st.none() | st.builds(Address, street=TEXT, number=st.none() | st.integers(-(1 << 63), (1 << 63) - 1)),
    tags=st.frozensets(TEXT, max_size=3),
    span=st.tuples(st.integers(), st.floats(allow_nan=False, allow_infinity=False)),
    counts=st.dictionaries(st.integers(-(1 << 63), (1 << 63) - 1), st.booleans(), max_size=3),
    extra=st.dictionaries(TEXT, st.none() | st.booleans() | TEXT | st.lists(TEXT, max_size=2), max_size=3),
)


EXACT = {"id", "day", "patience", "serial", "weight", "picture", "to", "span"}


def put(db: Database, kind: str, payload: str) -> int:
    """Push as a producer that declares a different type."""
    [pushed] = db.run(
        lambda: db.store.messages.push([Entry("orders", None, kind, payload, None, None, None)], "ignore")
    )
    return pushed.id


def typed_members(order: Order) -> dict[str, Any]:
    """Return the members of an order by name, with what `==` ignores: types, signs, digits, offsets."""
    exact = {name: (type(value), repr(value)) for name, value in vars(order).items() if name in EXACT}
    items = [[(type(value), str(value)) for value in (item.price, item.count, item.colour)] for item in order.items]
    return {**exact, "placed": order.placed.utcoffset(), "total": str(order.total), "items": items}


@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(batch=st.lists(ORDERS, min_size=1, max_size=3))
def test_a_declared_value_comes_back_equal_and_with_its_types(db: Database, batch: list[Order]) -> None:
    queue = db.queue("orders", payload=Order)
    queue.push_many([Draft(order) for order in batch])
    found = [message.payload for message in queue.find()]
    popped = [message.payload for message in queue.pop_many(10)]
    for back in (found, popped):
        assert back == batch
        assert [typed_members(order) for order in back] == [typed_members(order) for order in batch]


def test_a_typed_dict_comes_back_with_the_types_of_its_members(db: Database) -> None:
    queue = db.queue("parcels", payload=Parcel)
    parcel = Parcel(weight=Decimal("1.50"), sent=datetime(2026, 3, 1, tzinfo=UTC))
    queue.push(parcel)
    message = queue.pop()
    assert message is not None
    assert message.payload == parcel
    assert type(message.payload["weight"]) is Decimal
    assert message.kind == "Parcel"


def test_the_kind_is_the_name_of_the_declared_type(db: Database) -> None:
    queue = db.queue("orders", payload=Small)
    queue.push(Small(1))
    [record] = everything(db)
    assert (record.kind, record.payload) == ("Small", '{"a":1}')
    reservation = queue.reserve()
    assert reservation is not None
    assert (reservation.message.kind, reservation.message.payload) == ("Small", Small(1))


def test_a_value_of_another_type_is_refused_and_nothing_is_pushed(db: Database) -> None:
    queue: Any = db.queue("orders", payload=Small)
    for payload, says in [
        ({"a": 1}, "declared to be Small.*dict"),
        (Item(Decimal(1), 1, Colour.RED), "declared to be Small.*Item"),
        (None, "declared to be Small.*NoneType"),
        (Small("one"), "payload cannot be read back as Small"),  # type: ignore[arg-type]
        (Small(None), "payload cannot be read back as Small"),  # type: ignore[arg-type]
        (Small(object()), "cannot be turned into JSON"),  # type: ignore[arg-type]
    ]:
        with pytest.raises(CodecError, match=says):
            queue.push(payload)
        with pytest.raises(CodecError, match=says):
            queue.push_many([Draft(Small(1)), Draft(payload)])
    assert everything(db) == []


class Loose(msgspec.Struct):
    """A type with a field of any type."""

    any: Any
    price: float | None = None


def test_what_would_come_back_as_something_else_is_refused_and_nothing_is_pushed(db: Database) -> None:
    queue = db.queue("orders", payload=Loose)
    for payload, says in [
        (Loose((1, 2)), r"payload\.any is \(1, 2\), which would come back as \[1, 2\]"),
        (Loose({"at": date(2026, 1, 1)}), r"payload\.any\['at'\] is datetime\.date"),
        (Loose(1, float("nan")), "nan, which JSON does not have"),
        (Loose("a\0b"), r"U\+0000"),
        (Loose({"$int": "12"}), r"would come back as 12"),
    ]:
        with pytest.raises(CodecError, match=says):
            queue.push(payload)
    assert everything(db) == []


def test_plain_json_that_fits_the_declared_type_is_taken_for_it(db: Database) -> None:
    db.queue("orders").push({"a": 1})
    message = db.queue("orders", payload=Small).pop()
    assert message is not None
    assert message.payload == Small(1)


MISFITS = {
    "of an older shape": ("Small", '{"b":1}', "does not fit Small.*missing required field"),
    "plain JSON that does not fit": ("json", "[1]", "does not fit Small"),
}


@pytest.mark.parametrize(("kind", "payload", "says"), MISFITS.values(), ids=MISFITS)
def test_a_payload_that_is_not_of_the_declared_type_is_buried_with_the_reason(
    db: Database, clock: MovableClock, kind: str, payload: str, says: str
) -> None:
    queue = db.queue("orders", payload=Small)
    odd = put(db, kind, payload)
    good = queue.push(Small(1))
    reservation = queue.reserve()
    assert reservation is not None
    assert reservation.message.id == good.id
    [buried] = [record for record in everything(db) if record.id == odd]
    assert (buried.status, buried.payload, buried.kind) == ("dead", payload, kind)
    error = queue.find(status="dead")[0].last_error
    assert error is not None
    assert error.type == "CodecError"
    assert re.search(says, error.message)
    clock.advance(hours(1000))
    assert [one.message.id for one in queue.reserve_many(5)] == [good.id]


def test_a_payload_of_another_kind_is_upgraded_by_the_function_for_that_kind(db: Database) -> None:
    queue = db.queue("orders", payload=Small, upgrades={"Invoice": lambda plain: Small(plain["number"])})
    put(db, "Invoice", '{"number":7}')
    message = queue.pop()
    assert message is not None
    assert message.payload == Small(7)


def test_an_older_shape_is_upgraded_from_plain_json_or_from_its_own_type(db: Database) -> None:
    class Old(msgspec.Struct):
        b: Decimal

    older = msgspec.defstruct("Small", [("c", int)])
    upgrades: dict[str | type, Any] = {
        Old: lambda old: Small(int(old.b * 10)),
        older: lambda old: {"a": old.c},
        "Small": lambda plain: {"a": plain["d"]},
    }
    queue = db.queue("orders", payload=Small, upgrades=upgrades)
    put(db, "Old", '{"b":"1.5"}')
    put(db, "Small", '{"c":2}')
    put(db, "Small", '{"d":3}')
    put(db, "Small", '{"a":4}')
    assert [one.message.payload for one in queue.reserve_many(4)] == [Small(15), Small(2), Small(3), Small(4)]


def test_an_upgrade_that_fails_buries_that_message_with_its_error(db: Database) -> None:
    queue = db.queue("orders", payload=Small, upgrades={"Invoice": lambda plain: Small(plain["number"])})
    put(db, "Invoice", '{"amount":7}')
    good = queue.push(Small(1))
    assert [one.message.id for one in queue.reserve_many(2)] == [good.id]
    [buried] = queue.find(status="dead")
    assert buried.last_error is not None
    assert "could not be upgraded to Small: KeyError: 'number'" in buried.last_error.message


def test_a_type_whose_own_code_fails_buries_the_message_and_no_more(db: Database) -> None:
    queue = db.queue("orders", payload=Moody)
    put(db, "Moody", '{"a":-1}')
    good = queue.push(Moody(1))
    assert [one.message.id for one in queue.reserve_many(2)] == [good.id]
    assert queue.count("dead") == 1


@dataclass
class Moody:
    """A type that validates itself."""

    a: int

    def __post_init__(self) -> None:
        if self.a < 0:
            raise ZeroDivisionError("below nothing")


def test_a_pop_loses_no_message_of_another_kind(db: Database) -> None:
    queue = db.queue("orders", payload=Small)
    odd = put(db, "Invoice", "1")
    queue.push(Small(1))
    message = queue.pop()
    assert message is not None
    assert message.payload == Small(1)
    [kept] = everything(db)
    assert (kept.id, kept.status) == (odd, "new")


def test_people_see_the_text_of_what_is_not_of_the_declared_type(db: Database) -> None:
    queue = db.queue("orders", payload=Small)
    put(db, "Invoice", '{"b":1}')
    queue.push(Small(1))
    assert [message.payload for message in queue.peek(5)] == ['{"b":1}', Small(1)]


def test_a_moved_value_keeps_the_type_that_it_has(db: Database) -> None:
    queue, paid = db.queue("orders", payload=Small), db.queue("paid", payload=Moody)
    queue.push_many([Draft(Small(1)), Draft(Small(2)), Draft(Small(3))])
    unchanged, changed, patched = queue.reserve_many(3)
    queue.move(unchanged, "same")
    queue.move(changed, "paid", Moody(5))
    queue.move(patched, "same", patch={"a": 9})
    assert [message.payload for message in db.queue("same", payload=Small).find()] == [Small(1), Small(9)]
    assert [message.payload for message in paid.find()] == [Moody(5)]


def test_a_patch_changes_what_it_names_and_leaves_the_rest_of_a_declared_value(db: Database) -> None:
    queue = db.queue("orders", payload=Item)
    queue.push(Item(Decimal("1.50"), 2, Colour.RED, Size.LARGE))
    reservation = queue.reserve()
    assert reservation is not None
    queue.move(reservation, "other", patch={"count": 1 << 40, "size": 1})
    [message] = db.queue("other", payload=Item).find()
    assert message.payload == Item(Decimal("1.50"), 1 << 40, Colour.RED, Size.SMALL)
    assert message.kind == "Item"


def test_a_payload_that_a_patch_makes_unlike_its_type_goes_on_as_plain_json(db: Database) -> None:
    queue = db.queue("orders", payload=Small)
    queue.push(Small(1))
    reservation = queue.reserve()
    assert reservation is not None
    queue.move(reservation, "other", patch={"a": None, "b": 2})
    message = db.queue("other").pop()
    assert message is not None
    assert (message.kind, message.payload) == ("json", {"b": 2})


def test_declared_values_are_pushed_with_a_settlement_and_spread(db: Database) -> None:
    queue, parcels = db.queue("orders", payload=Small), db.queue("parcels", payload=Parcel)
    if not db.store.capabilities.transactions:
        return  # this store refuses such a commit, which another promise covers
    queue.push(Small(1))
    reservation = queue.reserve()
    assert reservation is not None
    parcel = Parcel(weight=Decimal("1.50"), sent=datetime(2026, 3, 1, tzinfo=UTC))
    then = [Draft(Small(2), queue="orders"), Draft(parcels.encode(parcel), queue="parcels")]
    queue.commit(reservation, then=then)
    assert [message.payload for message in queue.find()] == [Small(2)]
    assert [message.payload for message in parcels.find()] == [parcel]


def test_a_failed_attempt_of_a_declared_payload_is_tried_again(db: Database, clock: MovableClock) -> None:
    queue = db.queue("orders", payload=Small)
    queue.push(Small(1))
    for attempt in (1, 2):
        reservation = queue.reserve()
        assert reservation is not None
        assert (reservation.attempt, reservation.message.payload) == (attempt, Small(1))
        queue.rollback(reservation, delay=minutes(1))
        clock.advance(minutes(1))


class Opaque:
    """A class that JSON cannot represent."""


@dataclass
class Holder:
    """A type with a field that cannot be stored."""

    thing: list[Opaque]


def test_a_type_that_cannot_be_carried_is_refused_when_it_is_declared(db: Database) -> None:
    named: Any = msgspec.defstruct("json", [("a", int)])
    reserved: Any = msgspec.defstruct("duerow.results", [("a", int)])
    undeclarable: list[tuple[Any, str]] = [
        (int, "dataclass, a msgspec Struct"),
        (Small(1), "dataclass, a msgspec Struct"),
        ("Order", "dataclass, a msgspec Struct"),
        (Opaque, "dataclass, a msgspec Struct"),
        (Holder, r"Holder\.thing is of type .*Opaque"),
        (named, "cannot be called 'json'"),
        (reserved, r"cannot be called 'duerow\.results'"),
    ]
    for of, says in undeclarable:
        with pytest.raises(ConfigurationError, match=says):
            db.queue("orders", payload=of)


def test_upgrades_that_cannot_be_are_refused_when_they_are_declared(db: Database) -> None:
    wrong: list[tuple[Any, Any, str]] = [
        (Small, {"Old": 1}, "not a function"),
        (Small, [("Old", len)], "must be a mapping"),
        (Small, {int: len}, "dataclass, a msgspec Struct"),
        (None, {"Old": len}, "pass payload=… too"),
    ]
    for of, upgrades, says in wrong:
        with pytest.raises(ConfigurationError, match=says):
            db.queue("orders", payload=of, upgrades=upgrades)


def test_a_list_of_moves_carries_declared_values(db: Database) -> None:
    if not db.store.capabilities.transactions:
        return  # this store refuses such lists, which another promise covers
    queue = db.queue("orders", payload=Small)
    queue.push(Small(1))
    reservation = queue.reserve()
    assert reservation is not None
    settlement = decide(reservation.message, [Move("a"), Move("b", Moody(2))], queue.retry)
    assert queue.settle([(reservation, settlement)]) == []
    assert [message.payload for message in db.queue("a", payload=Small).find()] == [Small(1)]
    assert [message.payload for message in db.queue("b", payload=Moody).find()] == [Moody(2)]


def test_dead_letters_of_a_declared_type_come_back_as_they_were(db: Database) -> None:
    queue = db.queue("orders", payload=Small, dead_letter="orders-dead")
    queue.push(Small(1))
    put(db, "json", "7")
    first = queue.reserve()
    assert first is not None
    queue.bury(first, "no use")
    assert queue.reserve() is None
    assert {record.kind for record in everything(db) if record.queue == "orders-dead"} == {"Small", "json"}
    assert queue.redrive(limit=1).count == 1
    assert [message.payload for message in queue.peek()] == [Small(1)]
    assert db.queue("orders-dead").redrive().count == 1
    assert sorted(record.kind for record in everything(db) if record.queue == "orders") == ["Small", "json"]
    assert {record.status for record in everything(db)} == {"new"}


def test_a_schedule_may_push_a_declared_value(db: Database, clock: MovableClock) -> None:
    queue = db.queue("orders", payload=Small)
    shown = db.schedule("hourly", queue="orders", payload=Small(7), every=hours(1))
    assert shown.payload == '{"a":7}'
    clock.advance(hours(1))
    db.maintain()
    message = queue.pop()
    assert message is not None
    assert message.payload == Small(7)
