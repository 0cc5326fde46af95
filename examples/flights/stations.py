"""The pipeline, station by station. The function of each station handles one flight at a time.

    demo.parse → demo.route ─ departed ──→ demo.enrich → demo.watch ─ on time ──→ demo.landed
                      ├─ malformed ─→ demo.malformed          └─ long delay ─→ demo.alert → demo.alerts
                      └─ cancelled ─────────────────────────────────────────────↑

Each station adds to the payload when the message arrived, when it was taken, and the number of the attempt. So each
flight carries a record of its whole path, and the totals at the end are counted from the flights themselves.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Final

import msgspec

from duerow.message import Message
from duerow.pipeline import Pipeline, Relay, Switch
from duerow.retry import fixed, limited
from examples.flights import flights

LONG_DELAY: Final = 60
"""From this many minutes on, a late arrival is announced with a text message."""

PARSE, ROUTE, ENRICH, WATCH, ALERT = "demo.parse", "demo.route", "demo.enrich", "demo.watch", "demo.alert"
LANDED, MALFORMED, ALERTS = "demo.landed", "demo.malformed", "demo.alerts"

STATIONS: Final = (PARSE, ROUTE, ENRICH, WATCH, ALERT)
OUTPUTS: Final = (LANDED, MALFORMED, ALERTS)

TRIES: Final = 20
"""The maximum number of attempts at a station, including those of processes that were killed."""

_MICROSECOND: Final = timedelta(microseconds=1)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class Flight(msgspec.Struct):
    """A line of the file, with each field's valid values. Times are local, written as hour times 100 plus minute."""

    year: int
    month: Annotated[int, msgspec.Meta(ge=1, le=12)]
    day: Annotated[int, msgspec.Meta(ge=1, le=31)]
    dep_time: Annotated[int, msgspec.Meta(ge=1, le=2400)] | None
    sched_dep_time: Annotated[int, msgspec.Meta(ge=0, le=2359)]
    dep_delay: int | None
    arr_time: Annotated[int, msgspec.Meta(ge=1, le=2400)] | None
    sched_arr_time: Annotated[int, msgspec.Meta(ge=0, le=2400)]
    arr_delay: int | None
    carrier: Annotated[str, msgspec.Meta(pattern="^[A-Z0-9]{2}$")]
    flight: Annotated[int, msgspec.Meta(ge=1)]
    tailnum: str | None
    origin: Annotated[str, msgspec.Meta(pattern="^[A-Z]{3}$")]
    dest: Annotated[str, msgspec.Meta(pattern="^[A-Z]{3}$")]
    air_time: Annotated[int, msgspec.Meta(ge=1)] | None
    distance: Annotated[int, msgspec.Meta(ge=1)]
    hour: Annotated[int, msgspec.Meta(ge=0, le=23)]
    minute: Annotated[int, msgspec.Meta(ge=0, le=59)]
    time_hour: str


def pipeline(lease: timedelta) -> Pipeline:
    """Return the pipeline. Messages that a killed process had taken are due again when their leases end."""
    terms: dict[str, Any] = {"lease": lease, "retry": limited(TRIES, fixed(timedelta(seconds=1)))}
    stations = [
        Relay(PARSE, parse, to=ROUTE, **terms),
        Switch(ROUTE, route, to={"departed": ENRICH, "cancelled": ALERT, "malformed": MALFORMED}, **terms),
        Relay(ENRICH, Enrich(), to=WATCH, **terms),
        Switch(WATCH, watch, to={"on time": LANDED, "long delay": ALERT}, **terms),
        Relay(ALERT, alert, to=ALERTS, **terms),
    ]
    return Pipeline("flights", stations, outputs=list(OUTPUTS))


def parse(message: Message) -> dict[str, Any]:
    """Turn a line of text into a flight, or describe what is wrong with the line."""
    text = message.payload["text"]
    fields = [None if field == flights.MISSING else field for field in text.split(",")]
    try:
        flight = msgspec.convert(dict(zip(Flight.__struct_fields__, fields, strict=True)), Flight, strict=False)
        _check(flight)
    except ValueError as error:  # including msgspec's ValidationError
        return _onwards(message, text=text, problem=str(error))
    return _onwards(message, text=None, flight=msgspec.to_builtins(flight))


def route(message: Message) -> tuple[str, dict[str, Any]]:
    """Separate flights that departed, flights that were cancelled, and malformed lines."""
    if "problem" in message.payload:
        return "malformed", _onwards(message)
    return "cancelled" if message.payload["flight"]["dep_time"] is None else "departed", _onwards(message)


class Enrich:
    """Adds the plane and the hour's weather to a flight.

    An instance holds both tables. Spark sends a function to its executors together with all the data that it holds. If
    the two take more than a megabyte, as they do here, Spark broadcasts them: each executor gets them only once,
    however many tasks use them.
    """

    def __init__(self) -> None:
        self.weather, self.planes = flights.weather(), flights.planes()

    def __call__(self, message: Message) -> dict[str, Any]:
        """Return the payload with the weather and the plane, each only if the tables have it."""
        flight = message.payload["flight"]
        weather = self.weather.get((flight["origin"], flight["time_hour"]))
        plane = self.planes.get(flight["tailnum"])
        return _onwards(message, weather=msgspec.to_builtins(weather), plane=msgspec.to_builtins(plane))


def watch(message: Message) -> tuple[str, dict[str, Any]]:
    """Send flights with long delays to the station that writes text messages."""
    late = message.payload["flight"]["arr_delay"] >= LONG_DELAY
    return "long delay" if late else "on time", _onwards(message)


def alert(message: Message) -> dict[str, Any]:
    """Write the text message: its recipient and its text."""
    flight = message.payload["flight"]
    name = f"{flight['carrier']} {flight['flight']} from {flight['origin']} to {flight['dest']}"
    when = f"{flight['day']}.{flight['month']}., {flight['hour']:02}:{flight['minute']:02}"
    sms = {"to": _number(flight), "text": f"{name} ({when}) {_news(flight)}"}
    return _onwards(message, sms=sms)


def microseconds(moment: datetime) -> int:
    """Return a time as microseconds since 1970."""
    return (moment - _EPOCH) // _MICROSECOND


def visit(message: Message) -> dict[str, Any]:
    """Return when a message entered its queue and when it was taken, in microseconds, and the number of the attempt."""
    taken = message.last_attempt_at or message.first_due_at
    return {
        "queue": message.queue,
        "entered": microseconds(message.first_due_at),
        "taken": microseconds(taken),
        "attempt": message.attempts,
    }


def _onwards(message: Message, **more: Any) -> dict[str, Any]:
    """Return the payload with `more` fields and with this visit added, and without fields that are None."""
    payload = {**message.payload, **more, "visits": [*message.payload.get("visits", ()), visit(message)]}
    return {name: value for name, value in payload.items() if value is not None}


def _check(flight: Flight) -> None:
    """Raise ValueError if the fields are valid individually but contradict each other."""
    if flight.dep_time is None:
        return
    if flight.arr_time is None:
        raise ValueError("departed, but no arrival is recorded")
    if flight.arr_delay is None or flight.air_time is None:
        raise ValueError("arrived, but the delay or the time in the air is missing")
    if _minutes(flight.dep_time) - _minutes(flight.sched_dep_time) - (flight.dep_delay or 0) not in _DAYS:
        raise ValueError("the delay at departure does not match the departure times")


def _minutes(time: int) -> int:
    return time // 100 * 60 + time % 100


_DAYS: Final = tuple(days * 24 * 60 for days in (-2, -1, 0, 1))
"""By how many minutes the difference of two times of day can deviate from the delay, if they are on different days."""


def _number(flight: Mapping[str, Any]) -> str:
    """Return the recipient: one of a hundred phone numbers that are reserved for fiction."""
    return f"+1 212 555 01{flight['flight'] % 100:02}"


def _news(flight: Mapping[str, Any]) -> str:
    if flight["arr_delay"] is None:
        return "is cancelled."
    hours, minutes = divmod(flight["arr_delay"], 60)
    return f"arrived {hours} h {minutes:02} min late."
