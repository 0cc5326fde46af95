"""A state is added to a table that exists, and taken away again, by Alembic; and it is told what is missing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.operations import Operations
from sqlalchemy import Connection, Engine, text
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

from duerow.entity import QueueState, queue_state
from duerow.entity.operations import AddQueueState
from duerow.errors import ConfigurationError, SchemaOutdated

OPERATIONS: Any = AddQueueState  # imported for what it registers


class Grown(DeclarativeBase):
    """A model of which an older version is deployed."""


class Invoice(Grown):
    """It was a table before it was a queue."""

    __tablename__ = "invoice"
    number: Mapped[int] = mapped_column(primary_key=True)
    mailing: Mapped[QueueState] = queue_state("mailing")


@pytest.fixture
def old(engine: Engine) -> Iterator[Connection]:
    """The table as it was, with a row in it."""
    with engine.connect() as connection:
        connection.execute(text("CREATE TABLE invoice (number INTEGER PRIMARY KEY NOT NULL)"))
        connection.execute(text("INSERT INTO invoice VALUES (7)"))
        connection.commit()
        yield connection
        connection.rollback()
        connection.execute(text("DROP TABLE invoice"))
        connection.commit()


def differences(connection: Connection) -> list[Any]:
    """What Alembic would still change, of this table."""
    ours = {"include_name": lambda name, kind, _: kind != "table" or name == "invoice"}
    context = MigrationContext.configure(connection, opts=ours)
    found = compare_metadata(context, Grown.metadata)
    connection.commit()
    return found


def test_a_state_is_added_to_a_table_with_rows_and_taken_away_again(
    old: Connection, engine: Engine, open_queue: Any
) -> None:
    queue = open_queue(Invoice.mailing, clock=None)
    context = MigrationContext.configure(old)
    with pytest.raises(SchemaOutdated, match=r"lacks mailing_status, .*op\.add_queue_state\('invoice', 'mailing'\)"):
        queue.check()
    with context.begin_transaction():
        Operations(context).add_queue_state("invoice", "mailing", id="number")  # type: ignore[attr-defined]
    old.commit()
    assert differences(old) == []
    queue.check()
    assert queue.reserve() is None
    with Session(engine) as session, session.begin():
        row = session.get_one(Invoice, 7)
        row.mailing.schedule()
    assert queue.reserve().message.id == 7
    (due,) = [index for index in Invoice.metadata.tables["invoice"].indexes if index.name == "ix_invoice_mailing_due"]
    with engine.begin() as connection:  # as after one that broke off
        due.drop(connection)
        connection.execute(text("ALTER TABLE invoice DROP COLUMN mailing_last_error"))
        if connection.dialect.name == "postgresql":
            spoilt = "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'ix_invoice_mailing_dead'::regclass"
            connection.execute(text(spoilt))
    with pytest.raises(SchemaOutdated, match=r"lacks mailing_last_error, ix_invoice_mailing_due.* in the database"):
        queue.check()
    with context.begin_transaction():
        Operations(context).add_queue_state("invoice", "mailing", id="number")  # type: ignore[attr-defined]
    old.commit()
    queue.check()
    assert differences(old) == []
    with pytest.raises(ConfigurationError, match="there is no table parcel for a queue state"):
        Operations(context).add_queue_state("parcel", "mailing")  # type: ignore[attr-defined]
    old.rollback()
    with context.begin_transaction():
        Operations(context).drop_queue_state("invoice", "mailing", id="number")  # type: ignore[attr-defined]
    old.commit()
    columns = [row[0] for row in old.execute(text("SELECT * FROM invoice")).cursor.description]  # type: ignore[union-attr]
    old.commit()
    assert columns == ["number"]
