"""A run takes all connections that a server has left for its user, and gives them back."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from sqlalchemy import create_engine, make_url, text

import duerow
from duerow.errors import StoreUnavailable
from duerow.testing.proxy import proxied
from duerow.testing.torture import Options, faults, hoard, run, torture
from duerow.testing.torture.environment import Setting
from duerow.testing.torture.faults import Faults
from duerow.testing.torture.hoard import Hoard
from duerow.testing.worker_harness import eventually

USERS = {
    "postgresql": ("CREATE ROLE {user} LOGIN PASSWORD 'pw' CONNECTION LIMIT 5", "DROP ROLE {user}"),
    "mariadb": ("CREATE USER {user} IDENTIFIED BY 'pw' WITH MAX_USER_CONNECTIONS 5", "DROP USER {user}"),
}
"""How a user is made whom the server lets have five connections, and removed."""

DRIVERS = {"postgresql": "postgresql+psycopg", "mariadb": "mysql+pymysql"}


@pytest.fixture(params=USERS)
def setting(request: pytest.FixtureRequest) -> Iterator[Setting]:
    """A database as a user reaches it who may have five connections."""
    family = request.param
    url, user = make_url(request.getfixturevalue(f"{family}_url")), f"few_{uuid.uuid4().hex[:8]}"
    owner = create_engine(url.set(drivername=DRIVERS[family]), isolation_level="AUTOCOMMIT")
    make, drop = USERS[family]
    with owner.connect() as connection:
        connection.execute(text(make.format(user=user)))
        if family == "mariadb":
            connection.execute(text(f"GRANT SELECT ON `{url.database}`.* TO {user}"))
    setting = Setting(url.set(username=user, password="pw").render_as_string(hide_password=False))
    yield setting
    setting.access.close()
    with owner.connect() as connection:
        connection.execute(text(drop.format(user=user)))
    owner.dispose()


def is_refused(setting: Setting) -> bool:
    """Whether the server has no connection for the user, which duerow tells as an outage."""
    found = setting.access.open_connection()
    if found is None:
        with pytest.raises(StoreUnavailable):
            duerow.connect(setting.url, migrate=True, **setting.all_settings)
        return True
    setting.access.close_connection(found)
    return False


def test_all_connections_are_taken_and_given_back(setting: Setting):
    held = Hoard(setting.access)
    assert held.take()
    assert is_refused(setting)
    held.give_back()
    eventually(lambda: not is_refused(setting))


def test_a_connection_that_somebody_gave_up_is_taken_too(setting: Setting):
    held, another = Hoard(setting.access), setting.access.open_connection()
    assert held.take()
    setting.access.close_connection(another)
    eventually(lambda: held.take_one() or len(held) == 5)
    assert is_refused(setting)
    held.give_back()


def test_a_server_that_offers_too_many_is_spared(setting: Setting, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(hoard, "MOST", 2)
    monkeypatch.setattr(hoard, "AT_ONCE", 2)
    assert not Hoard(setting.access).take()
    eventually(lambda: not is_refused(setting))


def test_the_server_is_out_of_connections_for_a_while(setting: Setting, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(faults, "MISSED", 1.0)
    with proxied(*(setting.access.address() or ("", 0))) as proxy:
        through = Setting(setting.access.behind(proxy.port))
        used = through.access.open_connection()
        happening = Faults(Options(), setting, proxy, setting.chance)
        happening.exhaust()
        assert happening.happened["times out of connections"] == 1
        assert is_refused(setting)
        with pytest.raises(Exception, match=r"(?i)server|closed"), closing(used.cursor()) as cursor:
            cursor.execute("SELECT 1")
        happening.exhaust()  # it is already
        assert happening.happened["times out of connections"] == 1
        happening.pass_over(all_of_them=True)  # returns when there are some again
        assert not is_refused(setting)


def test_a_server_is_restarted_with_all_its_connections_given_back(setting: Setting):
    happening = Faults(Options(), setting, None, setting.chance)
    happening.exhaust()
    refused: list[bool] = []
    happening.restart(lambda: refused.append(is_refused(setting)))
    assert refused == [False]


def test_a_file_has_no_connections_to_run_out_of():
    assert not Setting("sqlite:////tmp/spare.db").access.has_limit


def test_users_of_a_shared_database_keep_their_connections(monkeypatch: pytest.MonkeyPatch):
    asked: list[bool] = []

    def instead(url: str, settings: Any, options: Options, *_: Any) -> None:
        asked.append(options.exhaust)
        raise StoreUnavailable("no run is needed")

    monkeypatch.setattr(run, "Run", instead)
    for shared in (False, True):
        with pytest.raises(StoreUnavailable):
            torture("sqlite:///spare.db", Options(), shared)
    assert asked == [True, False]
