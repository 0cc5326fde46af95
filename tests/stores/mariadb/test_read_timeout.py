"""The limit of a read for people is MariaDB's max_statement_time, for that statement alone."""

from __future__ import annotations

from contextlib import closing
from datetime import timedelta
from typing import Any

from sqlalchemy import literal_column, select

from duerow.plan import Plan
from duerow.stores.sql.statements import Statement, Step
from duerow.testing.conformance.fixtures import Place
from duerow.testing.faces import Face
from tests.stores.held_reads import *  # noqa: F403 - where a lock keeps readers waiting

SHOWN = select(literal_column("@@max_statement_time"))


def told() -> Plan[list[float]]:
    """Read the setting as a read for people, and as any other before and after it."""
    found: list[Any] = []
    for bounded in (False, True, False):
        found += yield Step(Statement(SHOWN, kept=False, bounded=bounded), {})
    return [float(row[0]) for row in found]


def test_the_limit_holds_for_the_read_alone(face: Face, place: Place) -> None:
    with closing(face.connect(place.url, read_timeout=timedelta(milliseconds=7_500), **place.settings)) as database:
        assert database.run(told) == [0, 7.5, 0]
