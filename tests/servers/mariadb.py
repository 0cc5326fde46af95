"""MariaDB 10.6 or later, from the machine or from Debian's packages unpacked into a cache folder."""

import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pymysql
from sqlalchemy import make_url

from tests.servers import debian
from tests.servers.process import (
    account,
    free_port,
    given_url,
    new_password,
    run,
    serving,
    workspace,
    write_secret,
)
from tests.servers.restartable import ONLY_RESTARTS, Around, Restartable, Supervised, Wanted, around
from tests.servers.restartable import restartable as restarted

USER, DATABASE = "root", "duerow"
PACKAGES = ["mariadb-server-core", "mariadb-client-core"]


@dataclass(frozen=True)
class Installation:
    """Where a MariaDB lies: `/`, or the folder that stands for it when its packages were only unpacked."""

    root: Path

    @property
    def server(self) -> Path:
        """The server's program."""
        return self.root / "usr/sbin/mariadbd"

    @property
    def installer(self) -> Path:
        """The program that makes a data directory."""
        return self.root / "usr/bin/mariadb-install-db"

    @property
    def environment(self) -> dict[str, str]:
        """What its programs need to find their libraries."""
        return debian.environment(self.root)


@contextmanager
def running(durable: bool = False, *more: str) -> Iterator[str]:
    """A server's URL, `mysql://root:PASSWORD@127.0.0.1:PORT/duerow`, for as long as the block runs.

    Args:
        durable: Write each commit to the disk, as in production.
        more: Further options of a server of our own, which is then started in any case.
    """
    if (url := given_url("mariadb")) and not more:
        yield url
        return
    with _instance() as (server, home, owner, port, password, env, _):
        command = [*server, *([] if durable else FORGETFUL), *more]
        with serving(command, home, lambda: create_database(port, password), owner, env=env):
            yield _url(port, password)


@contextmanager
def restartable(*settings: str, wanted: Wanted = ONLY_RESTARTS) -> Iterator[Restartable]:
    """A server of one's own, restarted in turn after it was killed and after a clean shutdown.

    Args:
        settings: Further options of the server.
        wanted: Further faults that it must allow.
    """
    with _instance(wanted) as (server, home, owner, port, password, env, place):
        command, url = [*place.prefix, *server, *LASTING, *settings], _url(port, password)

        def begin(answers: Callable[[], object]) -> AbstractContextManager[subprocess.Popen[bytes]]:
            return serving(command, home, answers, owner, signal.SIGTERM, env, place.through)

        ways = (signal.SIGKILL, signal.SIGTERM)
        first = lambda: create_database(port, password)  # noqa: E731
        with Supervised(begin, first, lambda: server_version(url), ways) as supervised:
            yield restarted(url, supervised, place, home / "server.log", "[FATAL]")


@contextmanager
def _instance(
    wanted: Wanted = ONLY_RESTARTS,
) -> Iterator[tuple[list[str | Path], Path, str | None, int, str, dict[str, str], Around]]:
    """What starts a server in a new folder, that folder, its user, port, password, environment and surroundings."""
    owner = account("mysql", "nobody")
    with workspace("mariadb", owner) as home, around(home, owner, wanted, MEGABYTES) as place:
        mariadb = installed() or unpacked()
        data, port, password = place.folder / "data", free_port(), new_password()
        base = f"--basedir={mariadb.root / 'usr'}"
        # Two that are made at once would meet in the machine's folder of temporary files.
        environment = {**mariadb.environment, "TMPDIR": str(home)}
        small = SMALL if wanted.full_disk else []
        made = [base, f"--datadir={data}", *INSTALL, *small]
        run(owner, [mariadb.installer, "--no-defaults", *made], environment, place.through)
        # It runs before the first connection is taken, so that there is no time without a password.
        first = write_secret(home / "first.sql", FIRST.format(password=password), owner)
        options = [f"--datadir={data}", f"--port={port}", f"--init-file={first}", *SETTINGS, *small]
        server: list[str | Path] = [mariadb.server, "--no-defaults", base, *options]
        yield server, home, owner, port, password, environment, place


def _url(port: int, password: str) -> str:
    return f"mysql://{USER}:{password}@127.0.0.1:{port}/{DATABASE}"


INSTALL = ["--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve"]
SETTINGS = [
    "--bind-address=127.0.0.1",
    "--socket=server.sock",
    "--pid-file=server.pid",
    "--skip-name-resolve",
    "--character-set-server=utf8mb4",
]
FIRST = """\
DELETE FROM mysql.global_priv WHERE User = '' OR User = 'root' AND Host <> '127.0.0.1';
FLUSH PRIVILEGES;
ALTER USER 'root'@'127.0.0.1' IDENTIFIED BY '{password}';
"""
FORGETFUL = ["--innodb-flush-log-at-trx-commit=0", "--innodb-flush-method=nosync", "--skip-innodb-doublewrite"]
"""Nothing is waited for that only a power cut would show, or a kill of the server."""

LASTING = ["--innodb-flush-log-at-trx-commit=2", "--innodb-flush-method=nosync"]
"""Nothing is waited for that only a power cut would show; what is committed survives a kill of the server."""

SMALL = ["--innodb-log-file-size=8M"]
MEGABYTES = 160
"""Of a small disk, and what fits on it."""


def prepare() -> str:
    """Fetch the server if the machine has none and say which it is; ServerUnavailable when that fails."""
    if url := given_url("mariadb"):
        return url
    return str((installed() or unpacked()).server)


def installed() -> Installation | None:
    """The machine's own MariaDB, if it is complete."""
    machine = Installation(Path("/"))
    return machine if machine.server.exists() and machine.installer.exists() else None


def unpacked() -> Installation:
    """MariaDB from Debian's packages in the user's cache folder; fetched the first time."""
    return Installation(debian.unpacked("mariadb", PACKAGES))


def create_database(port: int, password: str) -> None:
    """Create the database; fails until the server answers."""
    connection = pymysql.connect(host="127.0.0.1", port=port, user=USER, password=password, connect_timeout=5)
    with connection, connection.cursor() as cursor:
        cursor.execute(f"CREATE DATABASE {DATABASE} CHARACTER SET utf8mb4")


def server_version(url: str) -> str:
    """Return what a server says of itself, such as `10.11.18-MariaDB-0+deb12u1`."""
    given = make_url(url)
    place = {"host": given.host, "port": given.port or 3306, "user": given.username, "password": given.password or ""}
    with pymysql.connect(**place) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT VERSION()")
        return str(cursor.fetchone()[0])
