"""A database file for each test; spans and metrics that are kept in memory."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import closing

import psycopg
import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from sqlalchemy.engine import make_url

import duerow
from duerow.telemetry.tracing import trace_queues
from tests.stores.postgresql.conftest import emptying


@pytest.fixture(scope="package")
def shop(postgresql_url: str) -> Iterator[tuple[str, psycopg.Connection]]:
    """A database of PostgreSQL that all tests here use one after the other, and a connection that empties its tables.

    To make a database and its tables takes longer than most tests.
    """
    server, name = make_url(postgresql_url), f"test_{uuid.uuid4().hex[:12]}"
    with closing(psycopg.connect(postgresql_url, autocommit=True)) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
        url = server.set(database=name).render_as_string(False)
        duerow.connect(url, migrate=True).close()
        with closing(psycopg.connect(url, autocommit=True)) as tidying:
            yield url, tidying
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest) -> str:
    """A database with empty tables; `make test` picks one of the two for each test."""
    if request.param == "sqlite":
        empty: str = request.getfixturevalue("sqlite_url")
        return empty
    url, connection = request.getfixturevalue("shop")
    connection.execute(emptying(connection, "public"))
    return str(url)


@pytest.fixture
def database(url: str) -> Iterator[duerow.Database]:
    with duerow.connect(url, migrate=True) as database:
        yield database


class Spans:
    """The spans that were ended, by their names."""

    def __init__(self, exporter: InMemorySpanExporter) -> None:
        self._exporter = exporter

    def all(self, name: str) -> list[ReadableSpan]:
        return [span for span in self._exporter.get_finished_spans() if span.name == name]

    def one(self, name: str) -> ReadableSpan:
        found = self.all(name)
        assert len(found) == 1, [span.name for span in self._exporter.get_finished_spans()]
        return found[0]

    def names(self) -> list[str]:
        return [span.name for span in self._exporter.get_finished_spans()]


@pytest.fixture
def provider() -> TracerProvider:
    return TracerProvider()


@pytest.fixture
def spans(provider: TracerProvider) -> Iterator[Spans]:
    exporter = InMemorySpanExporter()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    end = trace_queues(provider)
    yield Spans(exporter)
    end()
