"""Databases for the tests of frameworks."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import closing

import psycopg
import pytest
from psycopg import sql


@pytest.fixture
def empty_postgresql(postgresql_url: str) -> Iterator[str]:
    """The URL of an empty database of PostgreSQL."""
    name = sql.Identifier(f"contrib_{uuid.uuid4().hex[:12]}")
    with closing(psycopg.connect(postgresql_url, autocommit=True)) as superuser:
        superuser.execute(sql.SQL("CREATE DATABASE {}").format(name))
        yield f"{postgresql_url.rpartition('/')[0]}/{name._obj[0]}"
        superuser.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(name))
