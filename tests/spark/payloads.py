"""Types of payloads in a module that Spark's processes can import."""

import enum
import uuid
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Annotated, Literal, NotRequired

import msgspec
import pydantic
from typing_extensions import TypedDict


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Size(enum.IntEnum):
    SMALL = 1
    LARGE = 2


class Extra(TypedDict):
    note: str
    weight: NotRequired[float]


class Line(msgspec.Struct):
    item: str = msgspec.field(name="Item name")
    price: Decimal = Decimal("0.10")
    tags: set[str] = set()


class Address(pydantic.BaseModel):
    street: str = pydantic.Field(alias="Street")
    since: date | None = None
    score: Decimal = Decimal("1.5")
    blob: bytes = b"x"


@dataclass
class Order:
    number: int
    total: Decimal
    placed: datetime
    local: Annotated[datetime, msgspec.Meta(tz=False)]
    day: date
    at: time
    took: timedelta
    id: uuid.UUID
    colour: Colour
    size: Size
    kind: Literal["a", "b"]
    paid: bool
    rate: float
    name: str | None
    content: bytes
    lines: list[Line]
    counts: dict[str, int | None]
    extra: Extra
    nested: list[list[int]] = field(default_factory=list)


@dataclass
class Numbered:
    n: int


@dataclass
class Counted:
    n: int
    text: str


@dataclass
class Renumbered:
    """What Numbered became."""

    number: int
    times: int


def renumbered(old: Numbered) -> Renumbered:
    """The newer form of a payload."""
    return Renumbered(old.n, 1)


def from_plain(plain: dict[str, int]) -> dict[str, int]:
    """The newer form of a payload that had only a number."""
    return {**plain, "times": 2}
