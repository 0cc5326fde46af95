"""What the examples of a page run on."""

import uuid
from collections.abc import Iterator
from contextlib import closing
from urllib.parse import urlsplit

import psycopg
import pymongo
import pymysql
import pytest
from psycopg import sql
from sqlalchemy import make_url


@pytest.fixture
def database_address(postgresql_url: str) -> Iterator[str]:
    """The address of an empty database of PostgreSQL for one page: user@host:port/name."""
    name = f"docs_{uuid.uuid4().hex[:12]}"
    with closing(psycopg.connect(postgresql_url, autocommit=True)) as superuser:
        superuser.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        address = postgresql_url.removeprefix("postgresql://").rpartition("/")[0]
        yield f"{address}/{name}"
        superuser.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


@pytest.fixture
def mariadb_address(mariadb_url: str) -> Iterator[str]:
    """The address of an empty database of MariaDB for one page: user@host:port/name."""
    name, url = f"docs_{uuid.uuid4().hex[:12]}", make_url(mariadb_url)
    place = {"host": url.host, "port": url.port or 3306, "user": url.username, "password": url.password or ""}
    with closing(pymysql.connect(**place)) as connection:
        cursor = connection.cursor()
        cursor.execute(f"CREATE DATABASE {name}")
        yield url.set(database=name).render_as_string(hide_password=False).partition("://")[2]
        cursor.execute(f"DROP DATABASE {name}")


@pytest.fixture
def mongodb_address(mongodb_url: str) -> Iterator[str]:
    """The address of an empty database of MongoDB for one page: host:port/name, with the user and the options."""
    name, parts = f"docs_{uuid.uuid4().hex[:12]}", urlsplit(mongodb_url)
    with pymongo.MongoClient(mongodb_url) as client:
        yield parts._replace(scheme="", path=f"/{name}").geturl().removeprefix("//")
        client.drop_database(name)


@pytest.fixture
def api_address() -> Iterator[str]:
    """The URL of the HTTP API of an empty database for one page, with a token."""
    from duerow.web import Account, Accounts, digest
    from tests.web.server import serving

    accounts = Accounts({"shop": Account("worker", None, {"default": digest("duerow_secret")})})
    with serving(f"memory://{uuid.uuid4().hex}", users=accounts) as address:
        yield address.replace("http://", "http://duerow_secret@")
