"""Takes flights from the outputs of the pipeline and records each one once in the demo's tables.

One transaction takes a message, records the flight and pushes the text message about it, if there is one. Because
`pop(within=…)` is part of that transaction, it needs no lease, and nothing can be lost or happen twice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from threading import Event
from typing import Any, Final

from sqlalchemy import Connection, Engine, insert

from duerow import Database, Draft, Message
from examples.flights import stations
from examples.flights.ledger import FLIGHT, SMS, VISIT
from examples.flights.sender import QUEUE

BATCH: Final = 500

POLL: Final = timedelta(milliseconds=200)


class Recorder:
    """Records flights as they arrive.

    Args:
        database: the database with the queues.
        engine: the same database, for the demo's own tables.
        tell: called after each batch with its numbers of flights and text messages.
    """

    def __init__(self, database: Database, engine: Engine, tell: Callable[[int, int], None]) -> None:
        self._database, self._engine, self._tell = database, engine, tell
        self._stop, self._finish = Event(), Event()

    def run(self) -> None:
        """Record flights until `stop` is called, or until `finish` is called and nothing is left to record."""
        while not self._stop.is_set():
            last = self._finish.is_set()
            if not self.record():
                if last:
                    return
                self._finish.wait(POLL.total_seconds())

    def finish(self) -> None:
        """Make `run` return as soon as nothing is left to record; call this when no more flights will arrive."""
        self._finish.set()

    def stop(self) -> None:
        """Make `run` return after the batch that it is recording."""
        self._stop.set()
        self._finish.set()

    def record(self) -> int:
        """Record one batch from each output; return how many flights were recorded."""
        return sum(self._record(output) for output in stations.OUTPUTS)

    def _record(self, output: str) -> int:
        with self._engine.begin() as connection:
            flights = self._database.queue(output).pop_many(BATCH, within=connection)
            if flights:
                connection.execute(insert(FLIGHT), [_flight(message) for message in flights])
                connection.execute(insert(VISIT), [row for message in flights for row in _visits(message)])
            alerts = [message for message in flights if "sms" in message.payload]
            if alerts:
                self._push(alerts, connection)
        if flights:
            self._tell(len(flights), len(alerts))
        return len(flights)

    def _push(self, alerts: Sequence[Message], connection: Connection) -> None:
        drafts = [Draft({**message.payload["sms"], "line": message.payload["line"]}) for message in alerts]
        pushed = self._database.queue(QUEUE).push_many(drafts, within=connection)
        rows = [
            {"sms_id": sms.id, "flight_id": message.id, "number": message.payload["sms"]["to"]}
            for sms, message in zip(pushed, alerts, strict=True)
        ]
        connection.execute(insert(SMS), rows)


def _flight(message: Message) -> dict[str, Any]:
    payload = message.payload
    flight, weather, plane = (payload.get(part, {}) for part in ("flight", "weather", "plane"))
    return {
        "message_id": message.id,
        "line": payload["line"],
        "outcome": _outcome(message),
        "problem": payload.get("problem"),
        "airline": flight.get("carrier"),
        "origin": flight.get("origin"),
        "dest": flight.get("dest"),
        "month": flight.get("month"),
        "day": flight.get("day"),
        "hour": flight.get("hour"),
        "departed_late": flight.get("dep_delay"),
        "arrived_late": flight.get("arr_delay"),
        "wind_mph": weather.get("wind_mph"),
        "rain_inches": weather.get("rain_inches"),
        "visibility_miles": weather.get("visibility_miles"),
        "plane_built": plane.get("built"),
        "seats": plane.get("seats"),
    }


def _outcome(message: Message) -> str:
    if message.queue == stations.MALFORMED:
        return "malformed"
    if message.queue == stations.LANDED:
        return "landed"
    return "cancelled" if message.payload["flight"]["dep_time"] is None else "late"


def _visits(message: Message) -> list[dict[str, Any]]:
    """Return a flight's stays in all queues, including this one; each stay ended when the next one began."""
    visits = [*message.payload["visits"], stations.visit(message)]
    ends = [visit["entered"] for visit in visits[1:]] + [visits[-1]["taken"]]
    return [
        {"message_id": message.id, "place": place, **visit, "left": end}
        for place, (visit, end) in enumerate(zip(visits, ends, strict=True))
    ]
