"""A role that has no connection left is told so as when the server is away."""

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from psycopg import sql
from sqlalchemy import make_url
from sqlalchemy.ext.asyncio import create_async_engine

from duerow.aio import connect
from duerow.errors import StoreUnavailable
from duerow.testing.conformance.fixtures import Place
from tests.stores.few_connections import *  # noqa: F403 - the tests of all server families
from tests.stores.few_connections import Few


@pytest.fixture
def few(place: Place, superuser: psycopg.Connection) -> Iterator[Few]:
    """A role that may have five connections."""
    url = make_url(place.url)
    role, schema = sql.Identifier("few"), sql.Identifier(place.settings["schema"])
    login = sql.SQL("CREATE ROLE {} LOGIN PASSWORD {} CONNECTION LIMIT 5")
    superuser.execute(login.format(role, sql.Literal(url.password or "")))
    superuser.execute(sql.SQL("GRANT USAGE ON SCHEMA {} TO {}").format(schema, role))
    for kind in ("TABLES", "SEQUENCES"):
        superuser.execute(sql.SQL("GRANT ALL ON ALL {} IN SCHEMA {} TO {}").format(sql.SQL(kind), schema, role))
    theirs = url.set(username="few").render_as_string(hide_password=False)

    def opened() -> psycopg.Connection | None:
        try:
            return psycopg.connect(theirs)
        except psycopg.OperationalError as error:
            if "too many connections" not in str(error):
                raise
            return None

    def ends(held: list[Any]) -> int:
        ending = (
            "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE usename = 'few' AND pid <> ALL(%s)"
        )
        return len(superuser.execute(ending, [[one.info.backend_pid for one in held]]).fetchall())

    yield Few(theirs, opened, ends)
    ends([])
    superuser.execute("DROP OWNED BY few; DROP ROLE few")


async def test_a_driver_of_the_applications_own_is_understood_too(place: Place, few: Few) -> None:
    engine = create_async_engine(make_url(few.url).set(drivername="postgresql+asyncpg"))
    with few.none_left(), pytest.raises(StoreUnavailable, match="53300") as refused:
        await connect(engine, **place.settings)
    assert refused.value.outcome == "none"
    await engine.dispose()
