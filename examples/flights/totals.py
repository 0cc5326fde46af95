"""The totals, counted from the database. They count ids instead of rows, and the checks compare sets of ids."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any, Final

import msgspec
from sqlalchemy import Connection, Engine, Select, func, select

from duerow import Database, Message
from examples.flights import flights, sender, stations
from examples.flights.ledger import CALL, FLIGHT, SMS, VISIT
from examples.flights.producer import pushed
from examples.flights.work import waiting

QUEUES: Final = (*stations.STATIONS, *stations.OUTPUTS, sender.QUEUE)

PAGE: Final = 1_000


class QueueTotals(msgspec.Struct, frozen=True):
    """How many messages entered a queue, left it, were handed out more than once, and died."""

    queue: str
    entered: int
    left: int
    retried: int
    dead: int


class AirlineTotals(msgspec.Struct, frozen=True):
    """An airline's flights: how many there were, how many were cancelled or late, and the mean delay in minutes."""

    airline: str
    name: str
    flights: int
    cancelled: int
    late: int
    mean_delay_minutes: float | None


class Check(msgspec.Struct, frozen=True):
    """A condition that must hold, and whether it does."""

    promise: str
    holds: bool
    found: str


class Totals(msgspec.Struct, frozen=True):
    """All the totals.

    Attributes:
        flights: how many flights have been pushed in all runs together.
        outcomes: how many flights landed, were late, were cancelled, or had malformed records.
        alerts: how many text messages have been pushed. The gateway accepted `sent` of them, and never accepted the
            `given_up` others.
        exact: whether all checks hold.
    """

    flights: int
    outcomes: dict[str, int]
    alerts: int
    sent: int
    given_up: int
    queues: list[QueueTotals]
    airlines: list[AirlineTotals]
    checks: list[Check]
    exact: bool


def count(database: Database, engine: Engine) -> Totals:
    """Count everything."""
    dead = {queue: list(_dead(database, queue)) for queue in QUEUES}
    left = sum(waiting(database, queue) for queue in QUEUES)
    with engine.connect() as connection:
        return _Count(connection, dead, left).totals()


class _Count:
    def __init__(self, connection: Connection, dead: dict[str, list[Message]], left: int) -> None:
        self.connection, self.dead, self.left = connection, dead, left
        self.pushed = pushed(connection)
        self.recorded = dict(self._pairs(select(FLIGHT.c.message_id, FLIGHT.c.line)))
        self.outcomes: defaultdict[str, set[int]] = defaultdict(set)
        for outcome, id in self._pairs(select(FLIGHT.c.outcome, FLIGHT.c.message_id)):
            self.outcomes[outcome].add(id)
        self.alerts = dict(self._pairs(select(SMS.c.sms_id, SMS.c.flight_id)))
        self.accepted = Counter(self.connection.scalars(select(CALL.c.sms_id).where(CALL.c.answer == "accepted")))
        self.given_up = {message.id for message in dead[sender.QUEUE]} - self.accepted.keys()

    def totals(self) -> Totals:
        checks = list(self.checks())
        return Totals(
            flights=self.pushed,
            outcomes={outcome: len(self.outcomes[outcome]) for outcome in ("landed", "late", "cancelled", "malformed")},
            alerts=len(self.alerts),
            sent=len(self.accepted),
            given_up=len(self.given_up),
            queues=[*self.queues(), self.sms()],
            airlines=list(self.airlines()),
            checks=checks,
            exact=all(check.holds for check in checks),
        )

    def checks(self) -> Iterator[Check]:
        """Compare sets of ids that must be equal."""
        rows = self.connection.scalars(select(func.count()).select_from(FLIGHT)).one()
        buried = [message for queue in (*stations.STATIONS, *stations.OUTPUTS) for message in self.dead[queue]]
        lines = [*self.recorded.values(), *(message.payload["line"] for message in buried)]
        expected = {flights.spread(place) for place in range(self.pushed)}
        yield Check(
            "every flight that was pushed reached exactly one output",
            len(lines) == len(expected) == rows + len(buried) and set(lines) == expected,
            f"{len(set(lines)):,} different flights of {len(expected):,}, in {len(lines):,} messages",
        )
        yield Check("no message is left in a queue on the way", self.left == 0, f"{self.left:,} messages are left")
        concerned = self.outcomes["late"] | self.outcomes["cancelled"]
        yield Check(
            "every long delay and every cancellation became one text message",
            len(self.alerts) == len(concerned) and set(self.alerts.values()) == concerned,
            f"{len(self.alerts):,} text messages for {len(concerned):,} flights",
        )
        ends = self.accepted.keys() | self.given_up
        yield Check(
            "every text message was sent or failed for good",
            ends == self.alerts.keys(),
            f"{len(self.accepted):,} sent and {len(self.given_up):,} failed of {len(self.alerts):,}",
        )
        twice = sum(1 for times in self.accepted.values() if times > 1)
        yield Check("no text message was sent twice", twice == 0, f"{twice:,} were sent twice")

    def queues(self) -> Iterator[QueueTotals]:
        """Count the flights that passed through each queue, from the paths that they carry; dead flights included."""
        passed = select(
            VISIT.c.queue,
            func.count(VISIT.c.message_id.distinct()),
            func.count(VISIT.c.message_id.distinct()).filter(VISIT.c.attempt > 1),
        )
        left: Counter[str] = Counter()
        retried: Counter[str] = Counter()
        for queue, ids, again in self.connection.execute(passed.group_by(VISIT.c.queue)):
            left[queue], retried[queue] = ids, again
        for queue in (*stations.STATIONS, *stations.OUTPUTS):
            for message in self.dead[queue]:
                for visit in message.payload.get("visits", ()):
                    left[visit["queue"]] += 1
                    retried[visit["queue"]] += visit["attempt"] > 1
                retried[queue] += message.attempts > 1
        for queue in (*stations.STATIONS, *stations.OUTPUTS):
            dead = len(self.dead[queue])
            yield QueueTotals(queue, left[queue] + dead, left[queue], retried[queue], dead)

    def sms(self) -> QueueTotals:
        """Count the messages that passed through the queue of text messages."""
        again = set(self.connection.scalars(select(CALL.c.sms_id).where(CALL.c.attempt > 1)))
        again |= {message.id for message in self.dead[sender.QUEUE] if message.attempts > 1}
        return QueueTotals(sender.QUEUE, len(self.alerts), len(self.accepted), len(again), len(self.given_up))

    def airlines(self) -> Iterator[AirlineTotals]:
        """Count each airline's flights, starting with the airline that has the most."""
        ids = FLIGHT.c.message_id.distinct()
        grouped = (
            select(
                FLIGHT.c.airline,
                func.count(ids),
                func.count(ids).filter(FLIGHT.c.outcome == "cancelled"),
                func.count(ids).filter(FLIGHT.c.outcome == "late"),
                func.avg(FLIGHT.c.arrived_late),
            )
            .where(FLIGHT.c.airline.is_not(None))
            .group_by(FLIGHT.c.airline)
            .order_by(func.count(ids).desc(), FLIGHT.c.airline)
        )
        names = flights.airlines()
        for code, number, cancelled, late, mean in self.connection.execute(grouped):
            minutes = None if mean is None else round(float(mean), 1)
            yield AirlineTotals(code, names.get(code, code), number, cancelled, late, minutes)

    def _pairs(self, query: Select[Any]) -> list[tuple[Any, Any]]:
        return [(first, second) for first, second in self.connection.execute(query)]


def _dead(database: Database, queue: str) -> Iterator[Message]:
    after = None
    while page := database.queue(queue).find(status="dead", limit=PAGE, after=after):
        yield from page
        after = page[-1].id
