"""What pydantic, msgspec and handlers in other processes say of an encrypted payload stays with who has the key."""

from __future__ import annotations

import logging
import pickle
from enum import Enum
from typing import Literal

import pydantic
import pytest

import duerow
from duerow.encryption import Encryption
from duerow.errors import CodecError
from duerow.payload.encoding import shown_failure
from duerow.settlement import failure
from duerow.testing.contents import everything

SECRET = "zq7-of-the-payload"


class Colour(Enum):
    """A field that takes few values."""

    RED = "red"


class Order(pydantic.BaseModel, extra="forbid"):
    """A declared payload that says a lot about what does not fit."""

    number: int
    colour: Colour = Colour.RED
    size: Literal["small", "large"] = "small"

    @pydantic.field_validator("number", mode="before")
    @classmethod
    def _known(cls, value: object) -> object:
        if value == "unknown":
            raise ValueError(f"nobody knows {SECRET}")
        return value


MISFITS = [{"number": SECRET}, {"number": 1, "colour": SECRET}, {"number": 1, "size": SECRET}, {"number": "unknown"}]


@pytest.mark.parametrize("misfit", [*MISFITS, {"number": 1, SECRET: 1}], ids=range(5))
def test_a_misfit_of_a_pydantic_model_is_kept_encrypted_and_logged_without_the_payload(
    misfit: dict[str, object], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with duerow.connect("memory://", migrate=True, encryption=Encryption([Encryption.new_key()])) as db:
        db.queue("orders").push(misfit)
        orders = db.queue("orders", payload=Order)
        duerow.Worker(orders, print).run(until="idle")
        [record] = everything(db)
        [dead] = orders.find()
    assert SECRET not in str(record)
    assert SECRET not in "".join(str(vars(line)) for line in caplog.records)
    assert dead.last_error is not None
    assert SECRET in dead.last_error.message


def test_a_pushed_misfit_is_raised_without_the_payload_which_the_detail_has() -> None:
    with duerow.connect("memory://", migrate=True, encryption=Encryption([Encryption.new_key()])) as db:
        orders = db.queue("orders", payload=Order)
        with pytest.raises(CodecError, match="a payload of type Order of queue 'orders' cannot be encoded") as refused:
            orders.push(Order.model_construct(number=SECRET))  # type: ignore[arg-type]
    error = pickle.loads(pickle.dumps(refused.value))
    assert SECRET in (error.detail or "")
    assert (SECRET in str(error), error.__cause__, refused.value.__context__) == (False, None, None)


def test_an_error_of_another_process_is_said_by_its_type_alone() -> None:
    error = ValueError(SECRET)
    error.duerow_failure = failure(KeyError(SECRET))  # type: ignore[attr-defined]
    assert shown_failure(error, quiet=True).message == "KeyError"
