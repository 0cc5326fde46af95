"""A user who has no connection left, or a server that has none, is told as when the server is away."""

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final

import pymysql
import pytest
from sqlalchemy import make_url

from duerow.testing.conformance.fixtures import Place
from tests.stores.few_connections import *  # noqa: F403 - the tests of all server families
from tests.stores.few_connections import Few
from tests.stores.mariadb.callers import opened

REFUSALS: Final = {"of the server": 1040, "of the user": 1226}
"""The numbers of the errors."""

LEAST: Final = 10
"""The least that a server of MariaDB takes for max_connections."""

THEIRS: Final = "SELECT id FROM information_schema.processlist WHERE user = 'few'"


@pytest.fixture(params=REFUSALS)
def few(request: pytest.FixtureRequest, place: Place, superuser: Any) -> Iterator[Few]:
    """A user of a server with few connections for all, or few for this user."""
    limit = " WITH MAX_USER_CONNECTIONS 5" if request.param == "of the user" else ""
    superuser.execute("SELECT @@max_connections")
    ((most,),) = superuser.fetchall()
    superuser.execute(f"CREATE USER 'few'@'127.0.0.1' IDENTIFIED BY 'pw'{limit}")
    superuser.execute(f"GRANT ALL ON `{place.settings['schema']}`.* TO 'few'@'127.0.0.1'")
    superuser.execute(f"GRANT SELECT ON `{make_url(place.url).database}`.* TO 'few'@'127.0.0.1'")
    url = make_url(place.url).set(username="few", password="pw").render_as_string(hide_password=False)
    if not limit:
        superuser.execute("SELECT COUNT(*) FROM information_schema.processlist")
        ((now,),) = superuser.fetchall()
        superuser.execute(f"SET GLOBAL max_connections = {now + 2 * LEAST}")

    def open_one() -> Any:
        try:
            return opened(url)
        except pymysql.err.OperationalError as error:
            if error.args[0] != REFUSALS[request.param]:
                raise
            return None

    def ends(held: list[Any]) -> int:
        spared = ", ".join(str(one.thread_id()) for one in held) or "0"
        ended = superuser.execute(others := f"{THEIRS} AND id NOT IN ({spared})")
        for (id,) in superuser.fetchall():
            with suppress(pymysql.err.OperationalError):  # it is gone
                superuser.execute(f"KILL {id}")
        while superuser.execute(others):
            time.sleep(0.01)
        return int(ended)

    @contextmanager
    def shut(held: list[Any]) -> Iterator[None]:
        """Have a limit below what this user alone holds: others close their connections when they like."""
        if limit:
            yield
            return
        assert len(held) > LEAST
        superuser.execute("SELECT @@max_connections")
        ((before,),) = superuser.fetchall()
        superuser.execute(f"SET GLOBAL max_connections = {LEAST}")
        yield
        superuser.execute(f"SET GLOBAL max_connections = {before}")

    yield Few(url, open_one, ends, shut)
    superuser.execute(f"SET GLOBAL max_connections = {most}")
    ends([])
    superuser.execute("DROP USER 'few'@'127.0.0.1'")
