"""The servers that the other tests stand on."""

import os
import select
import shutil
import subprocess
import sys
from pathlib import Path

import psycopg
import pymongo
import pymysql
import pytest
import sqlalchemy

from tests.servers import mariadb, mongodb, postgresql
from tests.servers.process import (
    ServerUnavailable,
    account,
    cache_folder,
    given_url,
    serving,
    sweep,
    workspace,
    write_secret,
)

here_only = pytest.mark.skipif(given_url("postgresql") is not None, reason="the PostgreSQL in use is the caller's own")


def test_postgresql_answers_and_is_new_enough(postgresql_url: str) -> None:
    with psycopg.connect(postgresql_url) as connection:
        assert connection.info.server_version >= 150000


def test_mariadb_answers_and_is_new_enough(mariadb_url: str) -> None:
    engine = sqlalchemy.create_engine(mariadb_url.replace("mysql://", "mysql+pymysql://"))
    with engine.connect() as connection:
        version = connection.scalar(sqlalchemy.text("SELECT VERSION()"))
    engine.dispose()
    assert tuple(map(int, version.split(".")[:2])) >= (10, 6)


def test_mongodb_answers_and_has_transactions(mongodb_url: str) -> None:
    with pymongo.MongoClient(mongodb_url) as client, client.start_session() as session:
        papers = client.get_default_database()["papers"]
        papers.insert_one({"_id": 0})
        session.start_transaction()
        papers.insert_one({"_id": 1}, session=session)
        session.abort_transaction()
        assert papers.count_documents({}) == 1
        papers.drop()


@pytest.mark.skipif(given_url("mongodb") is not None, reason="the MongoDB in use is the caller's own")
def test_mongodb_lets_nobody_in_without_the_password(mongodb_url: str) -> None:
    with pymongo.MongoClient(mongodb_url) as client:
        host, port = client.address or ("", 0)
    with pymongo.MongoClient(host, port) as stranger, pytest.raises(pymongo.errors.OperationFailure):
        stranger["duerow"]["papers"].find_one()


@here_only
@pytest.mark.parametrize(("durable", "fsync"), [(True, "on"), (False, "off")])
def test_a_durable_postgresql_keeps_what_it_commits_through_a_power_cut(durable: bool, fsync: str) -> None:
    with postgresql.running(durable=durable) as url, psycopg.connect(url) as connection:
        settings = [connection.execute(f"SHOW {name}").fetchone() for name in ("fsync", "synchronous_commit")]
    assert settings == [(fsync,), ("on",)]


@here_only
def test_the_postgresql_from_the_wheel_runs_where_the_machine_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgresql, "installed", lambda owner: None)
    with postgresql.running() as url, psycopg.connect(url) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)


@pytest.mark.parametrize("family", [postgresql, mariadb, mongodb])
def test_a_url_from_the_environment_is_used_as_it_is(family: object, monkeypatch: pytest.MonkeyPatch) -> None:
    name = family.__name__.rpartition(".")[2]
    monkeypatch.setenv(f"DUEROW_TEST_{name.upper()}_URL", "scheme://elsewhere")
    with family.running() as url:
        assert url == "scheme://elsewhere"


def test_a_server_that_ends_at_once_is_reported_with_its_log(tmp_path: Path) -> None:
    complaint = [sys.executable, "-c", "import sys; sys.exit('no room left')"]
    with pytest.raises(ServerUnavailable, match="no room left"), serving(complaint, tmp_path, lambda: 1 / 0):
        pass


def test_a_server_ends_with_the_process_that_started_it_even_when_that_is_killed() -> None:
    starter = subprocess.Popen(
        [sys.executable, "-c", STARTER], stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2]
    )
    assert starter.stdout is not None
    server = os.pidfd_open(int(starter.stdout.readline()))
    starter.kill()
    starter.wait()
    ended, _, _ = select.select([server], [], [], 60)
    os.close(server)
    assert ended, "the server outlived its starter"


STARTER = """
import signal, subprocess
from tests.servers.process import command_as
server = subprocess.Popen(command_as(None, ["sh", "-c", "echo $$; exec sleep 60"], dies_by=signal.SIGKILL))
server.wait()
"""


def test_directories_of_killed_runs_are_removed_and_those_of_living_ones_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    ended = subprocess.Popen(["true"])
    ended.wait()
    with workspace("family", owner=None) as ours:
        left = tmp_path / f"duerow-family-{ended.pid}-abc"
        left.mkdir()
        sweep("family")
        assert (left.exists(), ours.exists()) == (False, True)


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("setpriv"), reason="only root hands a server to another user")
def test_as_root_a_server_runs_as_another_user() -> None:
    assert account("nobody") == "nobody"
    with pytest.raises(ServerUnavailable, match="no user named"):
        account("nobody-of-that-name")


@here_only
def test_nobody_gets_into_a_postgresql_of_the_tests_without_its_password(postgresql_url: str) -> None:
    url = sqlalchemy.make_url(postgresql_url)
    assert len(url.password or "") == 32
    for odd in (url._replace(password=None), url.set(password="duerow"), url.set(username="postgres")):
        with pytest.raises(psycopg.OperationalError, match="password"):
            psycopg.connect(odd.render_as_string(hide_password=False))


@pytest.mark.skipif(given_url("mariadb") is not None, reason="the MariaDB in use is the caller's own")
def test_nobody_gets_into_a_mariadb_of_the_tests_without_its_password(mariadb_url: str) -> None:
    url = sqlalchemy.make_url(mariadb_url)
    for user, password in (("root", ""), ("root", "root"), ("", ""), ("mysql", "")):
        with pytest.raises(pymysql.OperationalError, match="Access denied"):
            pymysql.connect(host=url.host, port=url.port or 3306, user=user, password=password)


def test_the_cache_is_no_folder_in_which_others_could_put_programs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: os.getuid() + 1)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(ServerUnavailable, match="belongs to another user"):
        cache_folder()


def test_a_secret_is_written_where_only_its_owner_can_read_it(tmp_path: Path) -> None:
    assert write_secret(tmp_path / "password", "x", None).stat().st_mode & 0o077 == 0
