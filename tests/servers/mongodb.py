"""MongoDB's protocol, spoken by SecantusDB from its wheel: a single-node replica set with transactions."""

import importlib.util
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from importlib import metadata
from pathlib import Path

import pymongo

from tests.servers.process import (
    ServerUnavailable,
    free_port,
    given_url,
    new_password,
    serving,
    workspace,
    write_secret,
)
from tests.servers.restartable import ONLY_RESTARTS, Restartable, Supervised, around
from tests.servers.restartable import restartable as restarted

SERVER = Path(__file__).with_name("secantus_server.py")

USER = "duerow"


@contextmanager
def running() -> Iterator[str]:
    """A server's URL, `mongodb://USER:PASSWORD@127.0.0.1:PORT/…`, while the block runs; tests may have it fail."""
    if url := given_url("mongodb"):
        yield url
    else:
        with started("--enable-test-commands") as url:
            yield url


@contextmanager
def restartable() -> Iterator[Restartable]:
    """A server of one's own that waits for the disk at each commit, killed and shut down in turn to be restarted.

    Otherwise a kill would cost it what it has committed: it keeps its journal in memory for a while.
    """
    prepare()
    with workspace("mongodb", owner=None) as home, around(home, None, ONLY_RESTARTS, 0) as place:
        command, url = _command(home, "secantus", "--durable")

        def begin(answers: Callable[[], object]) -> AbstractContextManager[subprocess.Popen[bytes]]:
            return serving(command, home, answers, None, signal.SIGTERM)

        ways = (signal.SIGKILL, signal.SIGTERM)
        with Supervised(begin, lambda: ping(url), lambda: ping(url), ways) as supervised:
            yield restarted(url, supervised, place, home / "server.log", "")


@contextmanager
def standalone() -> Iterator[str]:
    """The URL of a server that is no member of a replica set, whatever server the others are run on."""
    with started(replica_set="") as url:
        yield url


@contextmanager
def started(*flags: str, replica_set: str = "secantus") -> Iterator[str]:
    """The URL of a server that was started with these flags, in a replica set or, without a name for it, in none."""
    prepare()
    with workspace("mongodb", owner=None) as home:
        server, url = _command(home, replica_set, *flags)
        with serving(server, home, lambda: ping(url), stop_by=signal.SIGKILL):  # It has nothing worth saving.
            yield url


def _command(home: Path, replica_set: str, *flags: str) -> tuple[list[str | Path], str]:
    """What starts a server in a folder, and the URL that it will have."""
    port, password = free_port(), new_password()
    secret = write_secret(home / "password", password, None)
    url = f"mongodb://{USER}:{password}@127.0.0.1:{port}/duerow?authSource=admin"
    return [sys.executable, SERVER, str(port), home / "data", secret, replica_set, *flags], url


def prepare() -> str:
    """Say which server `running()` will use; ServerUnavailable when there is none."""
    if url := given_url("mongodb"):
        return url
    if importlib.util.find_spec("secantus") is None:
        raise ServerUnavailable("nothing here speaks MongoDB's protocol: pip install secantusdb")
    return "SecantusDB"


def ping(url: str) -> None:
    """Ask the server for an answer; fails until there is one."""
    with pymongo.MongoClient(url, serverSelectionTimeoutMS=500) as client:
        client.admin.command("ping")


def server_version(url: str) -> str:
    """Return what a server says of itself; that of the wheel names the version of MongoDB whose protocol it speaks."""
    with pymongo.MongoClient(url) as client:
        spoken = client.server_info()["version"]
    ours = not given_url("mongodb")
    return f"SecantusDB {metadata.version('SecantusDB')}, in place of MongoDB {spoken}" if ours else str(spoken)
