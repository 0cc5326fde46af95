"""The pipeline: what happens to a flight, station by station; each is a function of one message.

    demo.parse → demo.route ─ departed ──→ demo.enrich → demo.watch ─ on time ──→ demo.landed
                      ├─ malformed ─→ demo.malformed          └─ long delay ─→ demo.alert → demo.alerts
                      └─ cancelled ─────────────────────────────────────────────↑

Each station adds to the payload when the message came to it, when it was taken, and at which attempt. So a flight
carries its whole way, and what is counted at the end is counted from the flights themselves.
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
"""Minutes after which an arrival is so late that somebody should be told."""

PARSE, ROUTE, ENRICH, WATCH, ALERT = "demo.parse", "demo.route", "demo.enrich", "demo.watch", "demo.alert"
LANDED, MALFORMED, ALERTS = "demo.landed", "demo.malformed", "demo.alerts"

STATIONS: Final = (PARSE, ROUTE, ENRICH, WATCH, ALERT)
OUTPUTS: Final = (LANDED, MALFORMED, ALERTS)

TRIES: Final = 20
"""Attempts in all at a station; those of a process that was killed count as well."""

_MICROSECOND: Final = timedelta(microseconds=1)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class Flight(msgspec.Struct):
    """A line of the file, with what each field may be. Times are local, as hour times 100 plus minute."""

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
    """Return the pipeline; what a killed process had taken is due again when its lease has ended."""
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
    """Turn a line of text into a flight, or say what is wrong with it."""
    text = message.payload["text"]
    fields = [None if field == flights.MISSING else field for field in text.split(",")]
    try:
        flight = msgspec.convert(dict(zip(Flight.__struct_fields__, fields, strict=True)), Flight, strict=False)
        _check(flight)
    except ValueError as error:  # msgspec's ValidationError is one
        return _onwards(message, text=text, problem=str(error))
    return _onwards(message, text=None, flight=msgspec.to_builtins(flight))


def route(message: Message) -> tuple[str, dict[str, Any]]:
    """Tell apart what departed, what was cancelled, and what makes no sense."""
    if "problem" in message.payload:
        return "malformed", _onwards(message)
    return "cancelled" if message.payload["flight"]["dep_time"] is None else "departed", _onwards(message)


class Enrich:
    """Adds the weather of the hour and the plane.

    It holds both tables. Spark sends a function with all that it holds to its executors, and one of more than a
    megabyte, as this is, as a broadcast: once to each of them, however many tasks use it.
    """

    def __init__(self) -> None:
        self.weather, self.planes = flights.weather(), flights.planes()

    def __call__(self, message: Message) -> dict[str, Any]:
        """Return the payload with what is known; None for an hour or a plane that is in no table."""
        flight = message.payload["flight"]
        weather = self.weather.get((flight["origin"], flight["time_hour"]))
        plane = self.planes.get(flight["tailnum"])
        return _onwards(message, weather=msgspec.to_builtins(weather), plane=msgspec.to_builtins(plane))


def watch(message: Message) -> tuple[str, dict[str, Any]]:
    """Send long delays to where somebody is told."""
    late = message.payload["flight"]["arr_delay"] >= LONG_DELAY
    return "long delay" if late else "on time", _onwards(message)


def alert(message: Message) -> dict[str, Any]:
    """Write the text message: to whom, and what."""
    flight = message.payload["flight"]
    name = f"{flight['carrier']} {flight['flight']} from {flight['origin']} to {flight['dest']}"
    when = f"{flight['day']}.{flight['month']}., {flight['hour']:02}:{flight['minute']:02}"
    sms = {"to": _number(flight), "text": f"{name} ({when}) {_news(flight)}"}
    return _onwards(message, sms=sms)


def microseconds(moment: datetime) -> int:
    """Return a moment as microseconds since 1970."""
    return (moment - _EPOCH) // _MICROSECOND


def visit(message: Message) -> dict[str, Any]:
    """Return when a message came into its queue and when it was taken from it, in microseconds, at which attempt."""
    taken = message.last_attempt_at or message.first_due_at
    return {
        "queue": message.queue,
        "entered": microseconds(message.first_due_at),
        "taken": microseconds(taken),
        "attempt": message.attempts,
    }


def _onwards(message: Message, **more: Any) -> dict[str, Any]:
    """Return the payload with more in it, without what is None, and with this visit added to its way."""
    payload = {**message.payload, **more, "visits": [*message.payload.get("visits", ()), visit(message)]}
    return {name: value for name, value in payload.items() if value is not None}


def _check(flight: Flight) -> None:
    """Raise ValueError for a flight whose fields are right one by one, but not together."""
    if flight.dep_time is None:
        return
    if flight.arr_time is None:
        raise ValueError("departed, but no arrival is recorded")
    if flight.arr_delay is None or flight.air_time is None:
        raise ValueError("arrived, but not how late or after how long in the air")
    if _minutes(flight.dep_time) - _minutes(flight.sched_dep_time) - (flight.dep_delay or 0) not in _DAYS:
        raise ValueError("the delay at departure is not the difference of its times")


def _minutes(time: int) -> int:
    return time // 100 * 60 + time % 100


_DAYS: Final = tuple(days * 24 * 60 for days in (-2, -1, 0, 1))
"""By how many minutes two times of day can differ more than the delay says, for days that passed between them."""


def _number(flight: Mapping[str, Any]) -> str:
    """Return whom to tell: one of a hundred numbers that are kept free for stories."""
    return f"+1 212 555 01{flight['flight'] % 100:02}"


def _news(flight: Mapping[str, Any]) -> str:
    if flight["arr_delay"] is None:
        return "is cancelled."
    hours, minutes = divmod(flight["arr_delay"], 60)
    return f"arrived {hours} h {minutes:02} min late."
