"""What PostgreSQL refuses is told by code, constraint and column; the row's values stay with the driver's error."""

from __future__ import annotations

import uuid

import psycopg
import pytest

from duerow import Draft
from duerow.errors import StoreRefused
from duerow.stores.sql.dialects.postgresql.errors import explained
from duerow.testing.faces import Face, unwrapped

SECRET = "the-secret-of-a-payload"


def test_an_error_of_the_database_names_the_constraint_and_repeats_no_value(
    face: Face, postgresql_url: str, superuser: psycopg.Connection
) -> None:
    schema = f"refused_{uuid.uuid4().hex}"
    try:
        with face.connect(postgresql_url, migrate=True, schema=schema) as db:
            superuser.execute(
                f'ALTER TABLE "{schema}".duerow_message ADD CONSTRAINT none_so_urgent CHECK (priority > 0)'.encode()
            )
            with pytest.raises(StoreRefused) as told:
                db.queue("mail").push_many([Draft({"card": SECRET}, key=f"{SECRET}-key", headers={"h": SECRET})])
    finally:
        superuser.execute(f'DROP SCHEMA IF EXISTS "{schema}" CASCADE'.encode())
    assert "none_so_urgent" in str(told.value)
    assert "SQLSTATE 23514" in str(told.value)
    assert SECRET not in str(told.value)
    cause = unwrapped(told.value).__cause__
    assert SECRET in str(cause)  # for whoever looks for it


def test_a_large_push_of_which_one_row_is_refused_pushes_nothing_and_the_next_one_works(
    face: Face, postgresql_url: str, superuser: psycopg.Connection
) -> None:
    schema = f"refused_{uuid.uuid4().hex}"
    urgent = [Draft(number, priority=1) for number in range(5_000)]
    try:
        with face.connect(postgresql_url, migrate=True, schema=schema) as db:
            superuser.execute(
                f'ALTER TABLE "{schema}".duerow_message ADD CONSTRAINT none_so_urgent CHECK (priority > 0)'.encode()
            )
            queue = db.queue("mail")
            with pytest.raises(StoreRefused, match="none_so_urgent"):
                queue.push_many([*urgent[:600], Draft("urgent"), *urgent])
            assert queue.count() == 0
            for _ in range(2):
                assert len({answer.id for answer in queue.push_many(urgent)}) == 5_000
            assert queue.count() == 10_000
    finally:
        superuser.execute(f'DROP SCHEMA IF EXISTS "{schema}" CASCADE'.encode())


def test_an_error_about_a_value_names_its_code_alone() -> None:
    error = psycopg.errors.InvalidTextRepresentation(f'invalid input syntax for type integer: "{SECRET}"')
    told = explained(error)
    assert isinstance(told, StoreRefused)
    assert str(told) == "PostgreSQL refused a statement (SQLSTATE 22P02): InvalidTextRepresentation"
