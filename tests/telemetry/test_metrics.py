"""Metrics of Prometheus and of OpenTelemetry: the state of queues, and what a process does with them."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from importlib.resources import files
from typing import Any

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

import duerow
import duerow.aio
from duerow.errors import DuerowError, LeaseLost
from duerow.plan import run
from duerow.queue import histogram
from duerow.store import Counted, Counters, Totals
from duerow.telemetry import opentelemetry, prometheus
from duerow.telemetry.prometheus import QueueCollector
from duerow.telemetry.reader import Growing, Reader
from duerow.worker.rounds import AROUND, FrameRound, entered


class Found(dict[tuple[str, frozenset[str]], float]):
    """What a scrape has, by the name of a sample and the values of its labels."""

    def __call__(self, name: str, *labels: str) -> float:
        return self[name, frozenset(labels)]

    def labels(self, name: str) -> set[str]:
        return {label for key, labels in self if key == name for label in labels}

    @property
    def names(self) -> set[str]:
        return {name for name, _ in self}


def scraped(collector: Any) -> Found:
    registry = CollectorRegistry()
    registry.register(collector)
    return samples(generate_latest(registry).decode())


def samples(text: str) -> Found:
    found = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    return Found({(one.name, frozenset(filter(None, one.labels.values()))): one.value for one in found})


def test_a_scrape_has_the_state_of_each_queue(database: duerow.Database):
    mail = database.queue("mail")
    mail.push_many([duerow.Draft(1), duerow.Draft(2), duerow.Draft(3, delay=timedelta(hours=1))])
    mail.pop()
    mail.pause()
    database.write_counts()
    found = scraped(QueueCollector(database))
    assert found("duerow_queue_messages", "mail", "ready") == 1
    assert found("duerow_queue_messages", "mail", "delayed") == 1
    assert found("duerow_queue_paused", "mail") == 1
    assert found("duerow_queue_oldest_due_seconds", "mail") >= 0
    assert found("duerow_queue_waiting_seconds_bucket", "mail", "+Inf") == 0


def test_turns_and_consumers_are_counted_over_all_processes(database: duerow.Database, url: str):
    with duerow.connect(url) as other:
        mail = other.queue("mail")
        mail.push_many([duerow.Draft(1), duerow.Draft(2)])
        duerow.Worker(mail, lambda message: None).run("idle")
    found = scraped(QueueCollector(database))
    assert found("duerow_queue_turns_total", "mail", "done") == 2
    assert found("duerow_queue_consumers", "mail") == 1


def test_queues_beyond_the_bound_are_added_up_as_other(database: duerow.Database):
    for number in range(5):
        database.queue(f"queue{number}").push("hello")
    found = scraped(QueueCollector(database, most_labels=2))
    assert found("duerow_queue_messages", "queue0", "ready") == 1
    assert found("duerow_queue_messages", "other", "ready") == 3
    assert found.labels("duerow_queue_oldest_due_seconds") == {"queue0", "queue1", "other"}


def test_a_queue_keeps_its_label_when_others_come_before_it(database: duerow.Database):
    reader = Reader(most_labels=1)
    database.queue("mail").push("hello")
    run(reader.read(database.store), database.run)
    database.queue("a").push("hello")
    found = run(reader.read(database.store), database.run)
    assert {label: one.messages["ready"] for label, one in found.items()} == {"mail": 1, "other": 1}


def test_many_scrapers_cost_the_database_one_reading(database: duerow.Database):
    clock = [0.0]
    reader = Reader(age=timedelta(seconds=5), clock=lambda: clock[0])
    assert reader.fresh() is None
    read = run(reader.read(database.store), database.run)
    assert reader.fresh() is read
    clock[0] = 5.0
    assert reader.fresh() is None


def test_reading_takes_at_most_a_tenth_of_the_time(database: duerow.Database):
    clock = [0.0]

    def slow(plan: Any) -> Any:
        clock[0] += 2.0
        return database.run(plan)

    reader = Reader(age=timedelta(seconds=5), clock=lambda: clock[0])
    run(reader.read(database.store), slow)
    took = clock[0]
    clock[0] = 10 * took - 0.1
    assert reader.fresh() is not None
    clock[0] = 10 * took
    assert reader.fresh() is None


@pytest.mark.parametrize(
    "name", ["duerow.audit", "duerow/singleton/mail", "duerow/concurrency/mail", "duerow/rate/mail"]
)
def test_queues_of_duerows_own_are_left_out(database: duerow.Database, name: str):
    database.queue(name).push("hello")
    assert scraped(QueueCollector(database)).labels("duerow_queue_messages") == set()


def counters(*rows: tuple[datetime, str | None]) -> Counters:
    lately = [Counted("mail", minute, Totals(), waiting, None) for minute, waiting in rows]
    return Counters(datetime.now(UTC), Totals(), lately)


def test_histograms_only_grow_though_the_database_forgets_minutes():
    first, second = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 1, 0, 1, tzinfo=UTC)
    bucket = histogram.bucket_of(1.0)
    growing = Growing()
    assert growing.more(counters((first, f'{{"{bucket}":5}}'))) == ({}, {})  # a counter begins at zero
    assert growing.more(counters((first, f'{{"{bucket}":7}}'))) == ({bucket: 2}, {})
    assert growing.more(counters((second, f'{{"{bucket}":1}}'))) == ({bucket: 1}, {})
    assert growing.more(counters((second, f'{{"{bucket}":1}}'))) == ({}, {})


class Bound:
    """What `ProcessEvents` of a registry has counted."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.end = prometheus.instrument(self.registry)

    def now(self) -> Found:
        return samples(generate_latest(self.registry).decode())


@pytest.fixture
def process():
    bound = Bound()
    yield bound
    bound.end()


def test_what_a_process_does_is_counted(database: duerow.Database, process: Bound):
    mail = database.queue("mail")
    mail.push("hello")
    mail.push_many([duerow.Draft(1), duerow.Draft(2)])
    outcomes: list[Any] = [None, ValueError("no"), duerow.Bury("no")]
    duerow.Worker(mail, lambda message: outcomes.pop(0)).run("idle")
    found = process.now()
    assert found("messaging_client_sent_messages_total", "mail") == 3
    assert found("messaging_client_consumed_messages_total", "mail") == 3
    assert found("duerow_claims_total", "mail", "yes") >= 1
    for outcome in ("done", "failed", "dead"):
        assert found("messaging_process_duration_seconds_count", "mail", outcome) == 1
    assert found("messaging_client_operation_duration_seconds_count", "push", "mail") == 2
    assert found("db_client_operation_duration_seconds_count", "push") == 2


def test_a_settlement_that_also_claims_is_counted_as_both(database: duerow.Database, process: Bound):
    mail = database.queue("mail")
    mail.push_many([duerow.Draft(1), duerow.Draft(2)])
    batch = mail.reserve_many(1)
    refused, batch = mail.settle_and_reserve([(one, duerow.Commit()) for one in batch], 1)
    assert (len(refused), len(batch)) == (0, 1)
    found = process.now()
    assert found("messaging_client_operation_duration_seconds_count", "settle", "mail") == 1
    assert found("messaging_client_operation_duration_seconds_count", "reserve", "mail") == 2
    assert found("messaging_client_consumed_messages_total", "mail") == 2
    assert found("duerow_claims_total", "mail", "yes") == 2


def test_the_permit_of_a_singleton_is_not_counted_with_what_the_process_does(database: duerow.Database, process: Bound):
    database.queue("mail").push("hello")
    duerow.Worker(database.queue("mail"), lambda message: None, singleton=True).run("idle")
    assert process.now().labels("messaging_client_operation_duration_seconds_count") == {
        "push",
        "reserve",
        "settle",
        "mail",
    }


def test_a_lost_lease_is_counted(database: duerow.Database, process: Bound):
    mail = database.queue("mail")
    mail.push("hello")
    reservation = mail.reserve()
    assert reservation is not None
    mail.remove(reservation.message.id, even_if_leased=True)
    with pytest.raises(LeaseLost):
        reservation.commit()
    mail.commit_many([reservation])
    assert process.now()("duerow_leases_lost_total", "mail") == 2


def test_the_numbers_that_a_frame_station_observes_are_gauges_of_its_last_batch(process: Bound, meter):
    reader, provider = meter
    listening = len(AROUND)  # of which one is this process's; others may be of earlier tests
    end = opentelemetry.instrument(meter_provider=provider)
    try:
        for total in (Decimal("10.5"), Decimal("7.25")):
            with entered(FrameRound("sold", 3)) as one:
                one.observed = {"total": total, "rows": 3, "first": "split", "any": None, "all": True}
        with entered(FrameRound("other", 1)):
            pass
    finally:
        end()
    found = process.now()
    assert found("duerow_frame_observed", "sold", "total") == 7.25
    assert found("duerow_frame_observed", "sold", "rows") == 3
    values = {(one.attributes["duerow.name"], one.value) for one in points(reader)["duerow.frame.observed"]}
    assert values == {("total", 7.25), ("rows", 3)}
    process.end()
    assert len(AROUND) == listening - 1


async def test_the_awaited_face_is_counted_likewise(url: str, process: Bound):
    async with await duerow.aio.connect(url, migrate=True) as database:
        mail = database.queue("mail")
        await mail.push("hello")

        async def handle(message: duerow.Message) -> None: ...

        await duerow.aio.Worker(mail, handle).run("idle")
    assert process.now()("messaging_process_duration_seconds_count", "mail", "done") == 1


async def test_the_exposition_can_be_had_as_openmetrics(url: str):
    async with await duerow.aio.connect(url, migrate=True) as database:
        await database.queue("mail").push("hello")
        text, kind = await prometheus.Exposition(database)("application/openmetrics-text; version=1.0.0")
    assert kind.startswith("application/openmetrics-text")
    assert text.count(b"# EOF") == 1
    assert text.endswith(b"# EOF\n")


@pytest.fixture
def meter():
    reader = InMemoryMetricReader()
    return reader, MeterProvider([reader])


def points(reader: InMemoryMetricReader) -> dict[str, list[Any]]:
    data = reader.get_metrics_data()
    assert data is not None
    return {
        metric.name: list(metric.data.data_points)
        for resource in data.resource_metrics
        for scope in resource.scope_metrics
        for metric in scope.metrics
    }


def test_opentelemetry_counts_what_a_process_does(database: duerow.Database, meter):
    reader, provider = meter
    end = opentelemetry.instrument(meter_provider=provider)
    try:
        mail = database.queue("mail")
        mail.push("hello", due=datetime.now(UTC) - timedelta(hours=2))
        duerow.Worker(mail, lambda message: None).run("idle")
    finally:
        end()
    found = points(reader)
    (sent,) = found["messaging.client.sent.messages"]
    assert sent.value == 1
    assert sent.attributes["messaging.destination.name"] == "mail"
    (handled,) = found["messaging.process.duration"]
    (waited,) = found["duerow.message.waiting"]
    assert waited.count == 1
    assert waited.sum >= 3600
    assert (handled.count, handled.attributes["duerow.outcome"]) == (1, "done")
    assert {one.attributes["messaging.operation.name"] for one in found["messaging.client.operation.duration"]} >= {
        "push",
        "reserve",
        "settle",
    }


def test_opentelemetry_observes_queues(database: duerow.Database, meter):
    reader, provider = meter
    opentelemetry.observe(database, provider)
    database.queue("mail").push("hello")
    found = points(reader)
    states = {one.attributes["duerow.state"]: one.value for one in found["duerow.queue.messages"]}
    assert states["ready"] == 1
    assert {"duerow.queue.oldest_due", "duerow.queue.turns"} <= found.keys()


GRAFANA = files("duerow.telemetry").joinpath("grafana.json")

FUNCTIONS = {
    "sum",
    "max",
    "rate",
    "by",
    "histogram_quantile",
    "clamp_min",
    "le",
    "increase",
    "queue",
    "state",
    "outcome",
    "messaging_operation_name",
    "db_operation_name",
    "messaging_destination_name",
    "label_values",
    "error_type",
    "found",
    "topk",
    "avg",
    "abs",
    "or",
    "vector",
}


def expressions(part: Any) -> list[str]:
    """Return the expressions of a dashboard, wherever in it."""
    if isinstance(part, dict):
        own = [part["expr"]] if isinstance(part.get("expr"), str) else []
        own += [part["query"]] if isinstance(part.get("query"), str) and "(" in part["query"] else []
        return own + [one for value in part.values() for one in expressions(value)]
    return [one for value in part for one in expressions(value)] if isinstance(part, list) else []


def test_each_metric_of_the_grafana_dashboard_is_exported(database: duerow.Database, process: Bound):
    mail = database.queue("mail")
    mail.push("hello")
    duerow.Worker(mail, lambda message: None).run("idle")
    mail.push("lost")
    reservation = mail.reserve()
    assert reservation is not None
    mail.remove(reservation.message.id, even_if_leased=True)
    mail.commit_many([reservation])
    exported = scraped(QueueCollector(database)).names | process.now().names
    dashboard = json.loads(GRAFANA.read_text())
    found = expressions(dashboard)
    assert len(found) > 8
    for expression in found:
        bare = re.sub(r"\{[^}]*\}|\[[^\]]*\]|\"[^\"]*\"|\$\w+", "", expression)
        names = set(re.findall(r"[a-z_]{2,}", bare)) - FUNCTIONS
        assert names, expression
        assert names <= exported, expression


def test_the_panels_of_the_grafana_dashboard_have_titles_places_and_a_source_to_choose():
    dashboard = json.loads(GRAFANA.read_text())
    panels = dashboard["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    for panel in panels:
        assert panel["title"]
        assert set(panel["gridPos"]) == {"h", "w", "x", "y"}
        assert panel["datasource"] == {"type": "prometheus", "uid": "${source}"}


def test_the_grafana_dashboard_is_what_its_tool_writes():
    from tools.grafana import dashboard

    assert GRAFANA.read_text() == dashboard()


@pytest.mark.parametrize("watch", [lambda: prometheus.instrument(CollectorRegistry()), opentelemetry.instrument])
def test_nothing_to_settle_is_refused_as_it_is_without_telemetry(database: duerow.Database, watch: Any):
    end = watch()
    try:
        with pytest.raises(DuerowError):
            database.queue("mail").settle(None)  # type: ignore[arg-type]
    finally:
        end()
