"""Transactions of other files are refused, whatever they are called; those of the same file are taken."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine, event
from sqlalchemy.orm import Session, scoped_session, sessionmaker
from sqlalchemy.pool import StaticPool

import duerow
from duerow import Database, Queue
from duerow.errors import ConfigurationError
from duerow.testing.conformance.fixtures import Place
from duerow.testing.faces import Face
from tests.entity.models import Mail
from tests.stores.callers import Way
from tests.stores.other_databases import in_ways, refuse_elsewhere
from tests.stores.sqlite.callers import WAYS


@pytest.fixture
def elsewhere(tmp_path: Path) -> Place:
    """Another file with such tables."""
    return Place(f"sqlite:///{tmp_path}/elsewhere.db")


@in_ways(WAYS)
def test_a_transaction_of_another_database_is_refused(
    db: Database, queue: Queue, place: Place, elsewhere: Place, face: Face, way: Way
) -> None:
    refuse_elsewhere(db, queue, place, elsewhere, face, way)


def file_of(place: Place) -> str:
    return place.url.removeprefix("sqlite:///")


def test_a_file_is_the_same_by_another_path(place: Place, tmp_path: Path) -> None:
    with duerow.connect(place.url, migrate=True) as db:
        queue = db.queue("mail")
        (tmp_path / "link.db").symlink_to(file_of(place))
        for path in (tmp_path / "link.db", Path(os.path.relpath(file_of(place)))):
            with closing(sqlite3.connect(path)) as own:
                own.execute("BEGIN")
                queue.push("hello", within=own)
                own.commit()
        assert queue.count() == 2


def test_an_attached_file_is_written_to_if_its_tables_are_what_the_statements_lead_to(
    place: Place, elsewhere: Place, tmp_path: Path
) -> None:
    with duerow.connect(place.url, migrate=True) as db:
        queue = db.queue("mail")
        with closing(sqlite3.connect(tmp_path / "shop.db", isolation_level=None)) as own:
            own.execute("ATTACH ? AS queues", [file_of(place)])
            own.execute("BEGIN")
            queue.push("hello", within=own)
            own.execute("COMMIT")
        assert queue.count() == 1
        duerow.connect(elsewhere.url, migrate=True).close()
        with closing(sqlite3.connect(file_of(elsewhere), isolation_level=None)) as own:  # its own tables come first
            own.execute("ATTACH ? AS queues", [file_of(place)])
            own.execute("BEGIN")
            with pytest.raises(ConfigurationError, match="another database"):
                queue.push("hello", within=own)
            own.execute("ROLLBACK")


def test_a_database_in_memory_is_that_of_its_engine_alone() -> None:
    mine, other = (create_engine("sqlite://", poolclass=StaticPool) for _ in range(2))
    with duerow.connect(mine, migrate=True) as db, duerow.connect(other, migrate=True) as there:
        with Session(mine) as session, session.begin():
            db.queue("mail").push("hello", within=session)
        with Session(other) as session, session.begin(), pytest.raises(ConfigurationError, match="another database"):
            db.queue("mail").push("hello", within=session)
        assert (db.queue("mail").count(), there.queue("mail").count()) == (1, 0)


def test_a_scoped_session_is_that_of_its_thread(place: Place, elsewhere: Place) -> None:
    engine = create_engine(place.url)
    scoped = scoped_session(sessionmaker(engine))  # what Flask-SQLAlchemy calls db.session
    with duerow.connect(place.url, migrate=True) as db, duerow.connect(elsewhere.url, migrate=True):
        queue = db.queue("mail")
        queue.push("undone", within=scoped)
        scoped.rollback()
        queue.push("kept", within=scoped)
        scoped.commit()
        assert [one.payload for one in queue.find()] == ["kept"]
        other = scoped_session(sessionmaker(create_engine(elsewhere.url)))
        with pytest.raises(ConfigurationError, match="another database"):
            queue.push("lost", within=other)
        scoped.remove()
        other.remove()


def test_a_session_with_an_engine_for_each_model_is_asked_for_the_one_that_is_meant(place: Place) -> None:
    engine = create_engine(place.url)
    with duerow.connect(place.url, migrate=True) as db, Session(binds={Mail: engine}) as session:
        with pytest.raises(ConfigurationError, match="bind_arguments"):
            db.queue("mail").push("lost", within=session)
        db.queue("mail").push("kept", within=session.connection(bind_arguments={"mapper": Mail}))
        assert db.queue("mail").count() == 0
        session.commit()
        assert db.queue("mail").count() == 1
    engine.dispose()


def test_a_callers_connection_is_asked_once_in_its_life(place: Place) -> None:
    engine = create_engine(place.url)
    asked: list[str] = []

    @event.listens_for(engine, "before_cursor_execute")
    def note(connection: Any, cursor: Any, statement: str, *more: Any) -> None:
        if "database_list" in statement:
            asked.append(statement)

    with duerow.connect(place.url, migrate=True) as db:
        for _ in range(3):
            with engine.begin() as own:
                db.queue("mail").push("hello", within=own)
        assert len(asked) == 1
        engine.dispose()  # another connection is made
        with engine.begin() as own:
            db.queue("mail").push("hello", within=own)
    assert len(asked) == 2
    with duerow.connect(engine) as db, engine.begin() as own:  # of the queue's own engine nothing is asked
        db.queue("mail").push("hello", within=own)
    assert len(asked) == 2
    engine.dispose()
