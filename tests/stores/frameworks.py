"""Sessions and connections as frameworks hold them are taken as `within=`: Flask-SQLAlchemy's, Django's, a task's."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from django import setup
from django.conf import settings as django_settings
from django.db import connections, transaction
from flask import Flask
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy import make_url
from sqlalchemy.ext.asyncio import async_scoped_session, async_sessionmaker, create_async_engine

import duerow
import duerow.aio
from duerow import Database
from duerow.errors import ConfigurationError
from duerow.testing.conformance.fixtures import Place

BLOCKING = {
    "sqlite": "sqlite",
    "postgresql": "postgresql+psycopg",
    "mysql": "mysql+pymysql",
    "mariadb": "mysql+pymysql",
}
AWAITED = {"sqlite": "sqlite+aiosqlite", "postgresql": "postgresql+psycopg"}
DJANGOS = {"sqlite": "django.db.backends.sqlite3", "postgresql": "django.db.backends.postgresql"}


def driven(place: Place, drivers: dict[str, str]) -> str:
    """The URL of a place for SQLAlchemy, with a driver."""
    url = make_url(place.url)
    return url.set(drivername=drivers[url.get_backend_name()]).render_as_string(hide_password=False)


@pytest.fixture
def queues(place: Place) -> Iterator[Database]:
    """The blocking face, migrated."""
    with duerow.connect(place.url, migrate=True, **place.settings) as database:
        yield database


def test_flask_sqlalchemys_session_is_that_of_the_request(queues: Database, place: Place) -> None:
    app = Flask("shop")
    app.config["SQLALCHEMY_DATABASE_URI"] = driven(place, BLOCKING)
    db, mail = SQLAlchemy(app), queues.queue("mail")

    @app.post("/<payload>/<int:fails>")
    def order(payload: str, fails: int) -> str:
        mail.push(payload, within=db.session)
        assert mail.edit(where=f"payload = '{payload}'", headers={"seen": True}, within=db.session).count == 1
        if fails:
            raise RuntimeError("the request failed, and its session is removed")
        db.session.commit()
        return "ok"

    client = app.test_client()
    assert [client.post(path).status_code for path in ("/a/0", "/b/1", "/c/0")] == [200, 500, 200]
    assert [message.payload for message in mail.find()] == ["a", "c"]
    with app.app_context():
        mail.push("undone", within=db.session)
        db.session.rollback()
        mail.push("kept", within=db.session())
        db.session.commit()
        db.engine.dispose()
    assert [message.payload for message in mail.find()] == ["a", "c", "kept"]


@pytest.fixture
def django(place: Place) -> Iterator[Any]:
    """Django's connection to the place."""
    if not django_settings.configured:
        django_settings.configure(DATABASES={})
        setup()
    url = make_url(place.url)
    named = {"NAME": url.database, "USER": url.username, "PASSWORD": url.password, "HOST": url.host, "PORT": url.port}
    given = {"ENGINE": DJANGOS[url.get_backend_name()], **{name: value or "" for name, value in named.items()}}
    connections.settings["queues"] = connections.configure_settings({"default": {}, "queues": given})["queues"]
    yield connections["queues"]
    connections["queues"].close()
    del connections["queues"]


def test_djangos_connection_is_taken_inside_atomic(queues: Database, django: Any) -> None:
    mail = queues.queue("mail")
    with pytest.raises(ConfigurationError, match=r"not inside transaction\.atomic\(\)"):
        mail.push("nowhere", within=django)
    with transaction.atomic(using="queues"):
        mail.push("a", within=django)
        with transaction.atomic(using="queues"):
            mail.push("undone with its savepoint", within=django)
            transaction.set_rollback(True, using="queues")
        mail.push("b", key="k", within=django)
        assert mail.count() == 0
    with transaction.atomic(using="queues"):
        mail.push("undone", within=django)
        assert mail.remove(key="k", within=django).count == 1
        transaction.set_rollback(True, using="queues")
    assert [message.payload for message in mail.find()] == ["a", "b"]
    with transaction.atomic(using="queues"):
        message = mail.pop(within=django)
    assert message is not None
    assert (message.payload, mail.count()) == ("a", 1)


async def test_an_async_scoped_session_is_that_of_its_task(place: Place) -> None:
    engine = create_async_engine(driven(place, AWAITED))
    scoped = async_scoped_session(async_sessionmaker(engine), scopefunc=asyncio.current_task)
    async with await duerow.aio.connect(place.url, migrate=True, **place.settings) as database:
        mail = database.queue("mail")

        async def request(payload: str, keeps: bool) -> None:
            await mail.push(payload, within=scoped)
            await (scoped.commit() if keeps else scoped.rollback())
            await scoped.remove()

        await asyncio.gather(request("kept", True), request("undone", False), request("kept", True))
        assert [message.payload for message in await mail.find()] == ["kept", "kept"]
    await engine.dispose()


def test_a_scoped_session_of_the_other_face_is_refused(queues: Database, place: Place) -> None:
    engine = create_async_engine(driven(place, AWAITED))
    scoped = async_scoped_session(async_sessionmaker(engine), scopefunc=lambda: 1)
    with pytest.raises(ConfigurationError, match="within="):
        queues.queue("mail").push("nowhere", within=scoped)
    assert queues.queue("mail").count() == 0
