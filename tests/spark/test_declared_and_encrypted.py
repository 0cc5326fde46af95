"""Declared and encrypted payloads go through stations on Spark with their types, and never in clear text."""

from __future__ import annotations

import pickle
from dataclasses import make_dataclass
from decimal import Decimal
from pickle import PicklingError
from typing import Any

import msgspec
import pytest
from pyspark.sql import SparkSession

import duerow
from duerow import Draft, Pipeline, Relay, spark
from duerow.encryption import Encryption
from duerow.payload.types import Declared
from duerow.spark.pickling import dumps
from duerow.testing.conformance.fixtures import Place
from duerow.testing.contents import everything


def test_declared_payloads_pass_stations_on_spark_encrypted(session: SparkSession, place: Place) -> None:
    # Made here, so that they travel to the executors by value, as those of a notebook do.
    order: Any = make_dataclass("Order", [("price", Decimal), ("card", str)])
    bill: Any = make_dataclass("Bill", [("total", Decimal), ("card", str)])

    def charge(message: duerow.Message) -> Any:
        assert type(message.payload.price) is Decimal
        return bill(message.payload.price * 2, message.payload.card)

    pipeline = Pipeline("shop", [Relay("orders", charge, to="bills", payload=order)], outputs=["bills"])
    settings = {**place.settings, "encryption": Encryption([Encryption.new_key()])}
    with duerow.connect(place.url, **settings) as db:
        db.queue("orders", payload=order).push_many([Draft(order(Decimal("1.10"), "4111-1111"))] * 3)
        spark.run(pipeline, place.url, spark=session, until="empty", **settings)
        records = everything(db)
        assert [(record.queue, record.status) for record in records] == [("bills", "new")] * 3
        assert {record.kind for record in records} == {"Bill+encrypted"}
        assert not any("4111-1111" in record.payload for record in records)
        bills = [message.payload for message in db.queue("bills", payload=bill).find()]
        assert bills == [bill(Decimal("2.20"), "4111-1111")] * 3


def test_types_travel_to_the_executors_with_what_msgspec_knew_of_them_left_behind() -> None:
    order: Any = make_dataclass("Order", [("price", Decimal)])
    Declared(order)
    arrived = pickle.loads(dumps(order))
    assert Declared(arrived).decode("Order", '{"price":"1.10"}') == arrived(Decimal("1.10"))
    assert Declared(order).decode("Order", '{"price":"1.10"}') == order(Decimal("1.10"))


def test_a_struct_that_would_arrive_without_its_fields_is_refused_with_advice() -> None:
    defined_here = msgspec.defstruct("Order", [("price", Decimal)], module="__main__")
    station = Relay("orders", lambda message: None, to="bills", payload=defined_here)
    with pytest.raises(PicklingError, match="Struct Order is defined in the program itself: define it in a module"):
        dumps(station)
