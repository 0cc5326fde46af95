"""PgBouncer in front of a PostgreSQL, from the machine or from Debian's packages unpacked into a cache folder."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from sqlalchemy.engine import make_url

from tests.servers import debian
from tests.servers.process import account, free_port, serving, workspace, write_secret

MODES = ("session", "transaction")

SETTINGS = """\
[databases]
{database} = host={host} port={port}

[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {own_port}
unix_socket_dir =
auth_type = md5
auth_file = {users}
pool_mode = {mode}
max_client_conn = 1000
default_pool_size = {size}
server_login_retry = 1
"""
"""It tries a server again after one second that was away."""


@contextmanager
def pooling(url: str, mode: str, size: int = 60) -> Iterator[str]:
    """The URL of the same database behind a pooler, for as long as the block runs.

    Args:
        url: the database.
        mode: `session`, or `transaction`: then the URL also turns off named prepared statements.
        size: how many connections it keeps to the server.
    """
    behind = make_url(url)
    owner = account("postgres", "nobody")
    with workspace("pgbouncer", owner) as home:
        root, port = found(), free_port()
        users = write_secret(home / "users.txt", f'"{behind.username}" "{behind.password}"\n', owner)
        place = {"database": behind.database, "host": behind.host, "port": behind.port, "own_port": port}
        settings = write_secret(
            home / "settings.ini", SETTINGS.format(users=users, mode=mode, size=size, **place), owner
        )
        pooled = behind.set(port=port).render_as_string(hide_password=False)
        program, environment = root / "usr/sbin/pgbouncer", debian.environment(root)
        with serving([program, settings], home, lambda: _answers(pooled), owner, env=environment):
            yield f"{pooled}?prepare_threshold=none" if mode == "transaction" else pooled


def found() -> Path:
    """The folder that stands for `/` where PgBouncer is: the machine itself, or what was fetched."""
    return Path("/") if shutil.which("pgbouncer") else debian.unpacked("pgbouncer", ["pgbouncer"])


def _answers(url: str) -> None:
    with psycopg.connect(url, connect_timeout=5, prepare_threshold=None) as connection:
        connection.execute("SELECT 1")
