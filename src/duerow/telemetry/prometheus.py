"""Metrics for Prometheus: the state of queues, read at each scrape, and what this process does with them.

Needs the extra `prometheus`.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from duerow.plan import arun, run
from duerow.queue.counts import CAP
from duerow.telemetry.process import watch
from duerow.telemetry.reader import MOST_LABELS, Distribution, Labels, Reader, Reading

if TYPE_CHECKING:
    from duerow.aio.database import Database as AwaitedDatabase
    from duerow.sync.database import Database

AGE: Final = timedelta(seconds=5)

BUCKETS: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0)


class QueueCollector(Collector):
    """The state of all queues of a database, read at each scrape.

    Register it with prometheus_client: `REGISTRY.register(QueueCollector(db))`. A scrape within `age` gets the previous
    reading, so any number of scrapers cost the database no more than one. With a database of `duerow.aio`, use
    `duerow.telemetry.prometheus.exposition` or `routes` instead.

    Args:
        database: the database, from `duerow.connect`.
        most_labels: how many queues have their own labels; all others are added up as `other`.
        age: how old a reading may be.
        count_to: the maximum number of messages of a queue to count in each state; None: all, however long that takes.
    """

    def __init__(
        self,
        database: Database,
        *,
        most_labels: int = MOST_LABELS,
        age: timedelta = AGE,
        count_to: int | None = CAP,
    ) -> None:
        self._database, self._reader = database, Reader(most_labels, age, count_to)
        self._reading = threading.Lock()

    def collect(self) -> Iterable[Metric]:
        """Return the metrics."""
        with self._reading:
            found = self._reader.fresh()
            if found is None:
                found = run(self._reader.read(self._database.store), self._database.run)
            return list(families(found))

    def describe(self) -> Iterable[Metric]:
        """Return the names of the metrics, without reading the database."""
        return list(families({}))


def families(reading: Reading) -> Iterable[Metric]:
    """Return the metrics of a reading."""
    messages = GaugeMetricFamily("duerow_queue_messages", "Messages of a queue, by state.", labels=("queue", "state"))
    oldest = GaugeMetricFamily(
        "duerow_queue_oldest_due_seconds", "How long the oldest ready message has been due.", labels=("queue",)
    )
    paused = GaugeMetricFamily("duerow_queue_paused", "Whether a queue is paused.", labels=("queue",))
    consumers = GaugeMetricFamily(
        "duerow_queue_consumers", "Workers of a queue that were seen in the last 30 seconds.", labels=("queue",)
    )
    turns = CounterMetricFamily(
        "duerow_queue_turns", "Turns that ended, by outcome; failed ones are tried again.", labels=("queue", "outcome")
    )
    waiting = HistogramMetricFamily(
        "duerow_queue_waiting_seconds", "How long messages had been due when they were handed out.", labels=("queue",)
    )
    handling = HistogramMetricFamily(
        "duerow_queue_handling_seconds", "How long handlers of workers ran.", labels=("queue",)
    )
    for label, one in reading.items():
        for state, number in one.messages.items():
            messages.add_metric((label, state), number)
        oldest.add_metric((label,), one.oldest)
        paused.add_metric((label,), one.paused)
        consumers.add_metric((label,), one.consumers)
        for outcome, number in one.ended.items():
            turns.add_metric((label, outcome), number)
        waiting.add_metric((label,), _buckets(one.waiting), one.waiting.sum)
        handling.add_metric((label,), _buckets(one.handling), one.handling.sum)
    return messages, oldest, paused, consumers, turns, waiting, handling


def _buckets(distribution: Distribution) -> Sequence[tuple[str, float]]:
    return [*((str(bound), float(count)) for bound, count in distribution.up_to()), ("+Inf", distribution.count)]


class ProcessEvents:
    """Counts what this process does with queues; the names follow OpenTelemetry's conventions for messaging.

    Args:
        registry: where the metrics are registered.
        most_labels: how many queues have their own labels.
    """

    def __init__(self, registry: CollectorRegistry, most_labels: int = MOST_LABELS) -> None:
        self._labels = Labels(most_labels)
        of = ("messaging_operation_name", "messaging_destination_name")
        self._operations = Histogram(
            "messaging_client_operation_duration_seconds",
            "How long operations on queues took.",
            (*of, "error_type"),
            registry=registry,
            buckets=BUCKETS,
        )
        self._sent = Counter(
            "messaging_client_sent_messages",
            "Messages that were pushed.",
            ("messaging_destination_name",),
            registry=registry,
        )
        self._consumed = Counter(
            "messaging_client_consumed_messages",
            "Messages that were claimed or popped.",
            ("messaging_destination_name",),
            registry=registry,
        )
        self._handled = Histogram(
            "messaging_process_duration_seconds",
            "How long handlers ran.",
            ("messaging_destination_name", "outcome"),
            registry=registry,
            buckets=BUCKETS,
        )
        self._claims = Counter(
            "duerow_claims", "Claims, by whether they found messages.", ("queue", "found"), registry=registry
        )
        self._lost = Counter(
            "duerow_leases_lost", "Leases that ended before they were settled.", ("queue",), registry=registry
        )
        self._statements = Histogram(
            "db_client_operation_duration_seconds",
            "How long the database took for one or more statements.",
            ("db_operation_name", "error_type"),
            registry=registry,
            buckets=BUCKETS,
        )

        self._observed = Gauge(
            "duerow_frame_observed",
            "What a frame station on Spark observed in its last batch.",
            ("queue", "name"),
            registry=registry,
        )

    def operated(self, operation: str, queue: str, seconds: float, messages: int, error: str | None) -> None:
        """See Events."""
        label = self._labels.of(queue)
        self._operations.labels(operation, label, error or "").observe(seconds)
        if operation == "push" and messages:
            self._sent.labels(label).inc(messages)
        if operation in ("reserve", "pop") and error is None:
            self._claims.labels(label, "yes" if messages else "no").inc()
            if messages:
                self._consumed.labels(label).inc(messages)

    def waited(self, queue: str, seconds: Sequence[float]) -> None:
        """Count nothing: the database has the waiting times for all processes."""

    def handled(self, queue: str, seconds: float, outcome: str) -> None:
        """See Events."""
        self._handled.labels(self._labels.of(queue), outcome).observe(seconds)

    def lost(self, queue: str, leases: int) -> None:
        """See Events."""
        self._lost.labels(self._labels.of(queue)).inc(leases)

    def ran(self, plan: str, seconds: float, error: str | None) -> None:
        """See Events."""
        self._statements.labels(plan, error or "").observe(seconds)

    def observed(self, queue: str, values: Mapping[str, float]) -> None:
        """See Events."""
        for name, value in values.items():
            self._observed.labels(self._labels.of(queue), name).set(value)


def instrument(registry: CollectorRegistry, most_labels: int = MOST_LABELS) -> Callable[[], None]:
    """Count what this process does with queues; return a function that stops it.

    Workers that are created later are counted too. Call it once per registry.
    """
    return watch(ProcessEvents(registry, most_labels))


@cache
def process_registry() -> CollectorRegistry:
    """Return the registry of this process, which starts counting with the first call."""
    registry = CollectorRegistry()
    instrument(registry)
    return registry


def process_metrics(accept: str = "") -> Callable[[], tuple[bytes, str]]:
    """Return a function that returns the metrics of this process as text, and the content type."""
    registry = process_registry()
    encode, kind = choose_encoder(accept)
    return lambda: (encode(registry), kind)


class Exposition:
    """The text for Prometheus, for a database of `duerow.aio`: the state of its queues, and of this process.

    Args:
        database: the database.
        most_labels: see QueueCollector.
        age: see QueueCollector.
        count_to: see QueueCollector.
    """

    def __init__(
        self,
        database: AwaitedDatabase,
        *,
        most_labels: int = MOST_LABELS,
        age: timedelta = AGE,
        count_to: int | None = CAP,
    ) -> None:
        self._database, self._reader = database, Reader(most_labels, age, count_to)
        self._reading = asyncio.Lock()
        process_registry()

    async def __call__(self, accept: str = "") -> tuple[bytes, str]:
        """Return the text in the format that the scraper accepts, and its content type."""
        async with self._reading:
            found = self._reader.fresh()
            if found is None:
                found = await arun(self._reader.read(self._database.store), self._database.run)
        encode, kind = choose_encoder(accept)
        registry = CollectorRegistry()
        registry.register(_Read(found))
        queues, process = encode(registry), encode(process_registry())
        return queues.removesuffix(END) + process, kind


END: Final = b"# EOF\n"
"""The last line in OpenMetrics, one of the two text formats."""


class _Read(Collector):
    """The metrics of a finished reading."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading

    def collect(self) -> Iterable[Metric]:
        return families(self._reading)


def routes(database: AwaitedDatabase, **options: Any) -> list[Any]:
    """Return the ASGI route `/metrics` for Starlette and FastAPI: `app.routes.extend(routes(db))`.

    Args:
        database: a database of `duerow.aio`.
        options: the options of QueueCollector.
    """
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

    exposition = Exposition(database, **options)

    async def metrics(request: Request) -> Response:
        content, kind = await exposition(request.headers.get("accept", ""))
        return Response(content, media_type=None, headers={"Content-Type": kind})

    return [Route("/metrics", metrics)]
