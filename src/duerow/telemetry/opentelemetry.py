"""Traces and metrics for OpenTelemetry; needs the extra `opentelemetry` and a configured SDK.

```python
from duerow.telemetry.opentelemetry import instrument

instrument()
```
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from threading import Lock
from typing import TYPE_CHECKING, Any

from opentelemetry import metrics
from opentelemetry.metrics import CallbackOptions, Meter, MeterProvider, Observation
from opentelemetry.trace import TracerProvider

from duerow.plan import run
from duerow.queue.counts import CAP
from duerow.telemetry.process import watch
from duerow.telemetry.reader import MOST_LABELS, Labels, QueueReading, Reader, Reading
from duerow.telemetry.tracing import SYSTEM, trace_queues

if TYPE_CHECKING:
    from duerow.sync.database import Database


def instrument(
    tracer_provider: TracerProvider | None = None,
    meter_provider: MeterProvider | None = None,
    *,
    most_labels: int = MOST_LABELS,
) -> Callable[[], None]:
    """Trace and count what this process does with queues; return a function that stops it.

    Call it once, before you create workers: existing ones are not traced.

    Args:
        tracer_provider: creates spans; default: the one that the program has configured.
        meter_provider: creates instruments; default: the one that the program has configured.
        most_labels: how many queues appear under their own names in metrics; the others are added up as `other`.
    """
    ends = [trace_queues(tracer_provider), watch(ProcessInstruments(_meter(meter_provider), most_labels))]

    def end() -> None:
        for one in ends:
            one()

    return end


def observe(
    database: Database,
    meter_provider: MeterProvider | None = None,
    *,
    most_labels: int = MOST_LABELS,
    age: timedelta = timedelta(seconds=5),
    count_to: int | None = CAP,
) -> None:
    """Export the state of all queues of a database as metrics; the state is read at each export.

    Call it in one process of your program only.

    Args:
        database: the database, from `duerow.connect`; it is used in the exporter's thread.
        meter_provider: creates instruments; default: the one that the program has configured.
        most_labels: how many queues appear under their own names; the others are added up as `other`.
        age: how old a reading may be.
        count_to: the maximum number of messages of a queue to count in each state; None: all.
    """
    reader, lock, meter = Reader(most_labels, age, count_to), Lock(), _meter(meter_provider)

    def reading() -> Reading:
        with lock:
            found = reader.fresh()
            return run(reader.read(database.store), database.run) if found is None else found

    def each(values: Callable[[QueueReading], Iterable[tuple[float, dict[str, str]]]]) -> Any:
        def observed(options: CallbackOptions) -> Iterator[Observation]:
            for label, one in reading().items():
                for value, more in values(one):
                    yield Observation(value, {**_named(label), **more})

        return [observed]

    meter.create_observable_gauge(
        "duerow.queue.messages",
        each(lambda one: [(number, {"duerow.state": state}) for state, number in one.messages.items()]),
        "{message}",
        "Messages of a queue, by state.",
    )
    meter.create_observable_gauge(
        "duerow.queue.oldest_due",
        each(lambda one: [(one.oldest, {})]),
        "s",
        "How long the oldest ready message has been due.",
    )
    meter.create_observable_gauge(
        "duerow.queue.consumers",
        each(lambda one: [(one.consumers, {})]),
        "{consumer}",
        "Workers of a queue that were seen in the last 30 seconds.",
    )
    meter.create_observable_counter(
        "duerow.queue.turns",
        each(lambda one: [(number, {"duerow.outcome": outcome}) for outcome, number in one.ended.items()]),
        "{turn}",
        "Turns that ended, by outcome; failed ones are tried again.",
    )


def _meter(provider: MeterProvider | None) -> Meter:
    return metrics.get_meter("duerow", meter_provider=provider)


def _named(queue: str) -> dict[str, str]:
    return {"messaging.system": SYSTEM, "messaging.destination.name": queue}


class ProcessInstruments:
    """Counts what this process does with queues, under names from OpenTelemetry's conventions where they exist."""

    def __init__(self, meter: Meter, most_labels: int = MOST_LABELS) -> None:
        self._labels = Labels(most_labels)
        self._operations = meter.create_histogram(
            "messaging.client.operation.duration", "s", "How long operations on queues took."
        )
        self._sent = meter.create_counter("messaging.client.sent.messages", "{message}", "Messages that were pushed.")
        self._consumed = meter.create_counter(
            "messaging.client.consumed.messages", "{message}", "Messages that were claimed or popped."
        )
        self._handled = meter.create_histogram("messaging.process.duration", "s", "How long handlers ran.")
        self._waited = meter.create_histogram(
            "duerow.message.waiting", "s", "How long messages had been due when they were handed out."
        )
        self._claims = meter.create_counter("duerow.claims", "{claim}", "Claims, by whether they found messages.")
        self._lost = meter.create_counter(
            "duerow.leases.lost", "{lease}", "Leases that ended before they were settled."
        )
        self._statements = meter.create_histogram(
            "db.client.operation.duration", "s", "How long the database took for one or more statements."
        )

        self._observed = meter.create_gauge(
            "duerow.frame.observed", "", "What a frame station on Spark observed in its last batch."
        )

    def operated(self, operation: str, queue: str, seconds: float, messages: int, error: str | None) -> None:
        """See Events."""
        named = _named(self._labels.of(queue))
        failed = {} if error is None else {"error.type": error}
        self._operations.record(seconds, {**named, "messaging.operation.name": operation, **failed})
        if operation == "push" and messages:
            self._sent.add(messages, {**named, "messaging.operation.name": operation})
        if operation in ("reserve", "pop") and error is None:
            self._claims.add(1, {**named, "duerow.found": messages > 0})
            if messages:
                self._consumed.add(messages, {**named, "messaging.operation.name": operation})

    def waited(self, queue: str, seconds: Sequence[float]) -> None:
        """See Events."""
        named = _named(self._labels.of(queue))
        for one in seconds:
            self._waited.record(one, named)

    def handled(self, queue: str, seconds: float, outcome: str) -> None:
        """See Events."""
        named = {**_named(self._labels.of(queue)), "messaging.operation.name": "process"}
        self._handled.record(seconds, {**named, "duerow.outcome": outcome})

    def lost(self, queue: str, leases: int) -> None:
        """See Events."""
        self._lost.add(leases, _named(self._labels.of(queue)))

    def ran(self, plan: str, seconds: float, error: str | None) -> None:
        """See Events."""
        failed = {} if error is None else {"error.type": error}
        self._statements.record(seconds, {"db.operation.name": plan, **failed})

    def observed(self, queue: str, values: Mapping[str, float]) -> None:
        """See Events."""
        for name, value in values.items():
            self._observed.set(value, {**_named(self._labels.of(queue)), "duerow.name": name})
