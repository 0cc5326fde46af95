"""What the examples of a page run on."""

import signal
import uuid
from collections.abc import Iterator
from contextlib import closing

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
    """The address of an empty database of MongoDB for one page: host:port/name."""
    name = f"docs_{uuid.uuid4().hex[:12]}"
    with pymongo.MongoClient(mongodb_url) as client:
        host, port = client.address or ("", 0)
        yield f"{host}:{port}/{name}"
        client.drop_database(name)


@pytest.fixture(scope="package")
def spark_as_before() -> Iterator[None]:
    """Stops the session that the first page has started and the others have shared, so that it is no other test's."""
    from pyspark.sql import SparkSession

    before, on_interrupt = SparkSession.getActiveSession(), signal.getsignal(signal.SIGINT)
    yield
    signal.signal(signal.SIGINT, on_interrupt)
    if before is None and (started := SparkSession.getActiveSession()) is not None:
        started.stop()
