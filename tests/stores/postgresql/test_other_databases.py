"""Transactions of other databases of a server are refused, and of other schemas on the search path."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import psycopg
import pytest
from sqlalchemy.engine import make_url

import duerow
from duerow import Database, Queue
from duerow.errors import ConfigurationError
from duerow.testing.conformance.fixtures import Place
from duerow.testing.faces import Face
from tests.stores.callers import Way
from tests.stores.other_databases import in_ways, refuse_elsewhere
from tests.stores.postgresql.callers import WAYS


@pytest.fixture(scope="module")
def elsewhere(postgresql_url: str, superuser: psycopg.Connection) -> Iterator[Place]:
    """Another database of the server, with a schema of the same name."""
    superuser.execute("DROP DATABASE IF EXISTS elsewhere")
    superuser.execute("CREATE DATABASE elsewhere")
    url = make_url(postgresql_url).set(database="elsewhere")
    yield Place(url.render_as_string(hide_password=False), {"schema": "tested"})
    superuser.execute("DROP DATABASE elsewhere WITH (FORCE)")


@in_ways(WAYS)
def test_a_transaction_of_another_database_is_refused(
    db: Database, queue: Queue, place: Place, elsewhere: Place, face: Face, way: Way
) -> None:
    refuse_elsewhere(db, queue, place, elsewhere, face, way)


def test_a_transaction_with_another_schema_on_its_search_path_is_refused(
    postgresql_url: str, superuser: psycopg.Connection
) -> None:
    for tenant in ("tenant_a", "tenant_b"):
        superuser.execute(f"DROP SCHEMA IF EXISTS {tenant} CASCADE; CREATE SCHEMA {tenant}")
        duerow.connect(f"{postgresql_url}?options=-csearch_path%3D{tenant}", migrate=True).close()
    with (
        duerow.connect(f"{postgresql_url}?options=-csearch_path%3Dtenant_a") as db,
        closing(psycopg.connect(postgresql_url)) as own,
    ):
        queue = db.queue("mail")
        own.execute("SET LOCAL search_path = tenant_b")
        with pytest.raises(ConfigurationError, match="another database"):
            queue.push("lost", within=own)
        own.execute("SET LOCAL search_path = tenant_a")
        queue.push("kept", within=own)
        own.commit()
        assert queue.count() == 1
    superuser.execute("DROP SCHEMA tenant_a, tenant_b CASCADE")
