"""Other queues, each driven as its own documentation advises for short messages in bulk.

Every adapter is a module with the names of `Peer`, or one of `in_node.PEERS`; design note 4 says why each is driven as
it is. Messages are told apart by their number, not by the peer's id, so that what was handled can be compared with what
was sent. duerow and the floor have adapters too, `ours` and `floor`, so that all are measured by the same code.

`python -m bench.peers` fetches those that come from npm.
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed_version
from importlib.util import find_spec
from typing import Protocol, cast

from bench.peers.missing import HOW_TO_INSTALL, PeerMissing
from bench.peers.sending import Sender
from bench.processes import Prepared
from bench.sizes import Size


class Peer(Protocol):
    """What the comparison with peers asks of every contestant."""

    NAME: str
    """The distribution's name on PyPI or npm."""

    SETTINGS: str
    """The settings used, for the table."""

    ONE_BY_ONE: bool
    """It takes one message at a time from the database, so it gets fewer of them."""

    def set_up(self, url: str) -> None:
        """Make the schema in an empty database."""

    def sender(self, url: str) -> Sender:
        """Connect a client."""

    def prepare_drain(self, url: str, count: int) -> Prepared[list[int]]:
        """Connect; return a function that handles all `count` messages and returns their numbers."""

    def prepare_worker(self, url: str) -> Prepared[dict[int, int]]:
        """Connect; return a function that handles until STOP, and returns when each number was handled.

        Not asked of the peers on SQLite.
        """

    def left(self, url: str) -> int:
        """Count the messages that are not handled yet."""


REQUIRED = ("pgqueuer", "pgmq")
OPTIONAL = ("procrastinate",)

CONTESTANTS = {"floor": "floor", "duerow": "ours"}
"""Those that every comparison has, and the modules of their adapters."""

POSTGRESQL = ("pgqueuer", "pgmq", "procrastinate", "graphile-worker", "pg-boss", "awa-pg")
SQLITE = ("huey", "litequeue")
FROM_NPM = ("graphile-worker", "pg-boss")


def drained() -> list[str]:
    """Return the peers of the scenario `drain`, the optional ones only where their library is installed."""
    return [*REQUIRED, *(name for name in OPTIONAL if find_spec(name) is not None)]


def load(name: str) -> Peer:
    """Return the adapter of a contestant."""
    if name in FROM_NPM:
        from bench.peers import in_node

        return cast(Peer, in_node.PEERS[name])
    return cast(Peer, import_module(f"bench.peers.{CONTESTANTS.get(name, name).replace('-', '_')}"))


def drained_by(name: str, size: Size) -> int:
    """Return how many messages a contestant drains in a run: fewer if it takes one at a time."""
    return size.singly if load(name).ONE_BY_ONE else size.drain


def version(name: str) -> str:
    """Return the version of a peer that is installed.

    Raises:
        PeerMissing: it is not.
    """
    if name in FROM_NPM:
        from bench.peers import in_node

        return in_node.version(name)
    try:
        return installed_version(name)
    except PackageNotFoundError:
        raise PeerMissing(f"{name} is not installed: {HOW_TO_INSTALL}") from None


def present(names: tuple[str, ...]) -> tuple[list[str], dict[str, str]]:
    """Return those of the peers that are installed, and of each other one what is said of it."""
    found, absent = [], {}
    for name in names:
        try:
            version(name)
        except PeerMissing as error:
            absent[name] = str(error)
        else:
            found.append(name)
    return found, absent
