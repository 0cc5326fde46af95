"""Code that blocking and async connections share, for commands and for transactions."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from datetime import timedelta
from typing import Any, Final

from bson.codec_options import CodecOptions
from pymongo.read_concern import ReadConcern
from pymongo.read_preferences import ReadPreference
from pymongo.write_concern import WriteConcern

from duerow.errors import ConfigurationError, NotSupported
from duerow.store import TransactionState
from duerow.stores.mongodb.steps import Command

AWARE: Final[CodecOptions[dict[str, Any]]] = CodecOptions(tz_aware=True)
"""Codec options for commands, which do not inherit them from the client."""

TRANSACTION: Final[dict[str, Any]] = {
    "read_concern": ReadConcern("snapshot"),
    "write_concern": WriteConcern("majority"),
    "read_preference": ReadPreference.PRIMARY,
}

WANTED_WITHIN: Final = "give an open transaction of a PyMongo ClientSession"


def prepared(step: Command, inside: bool, limit: timedelta | None) -> dict[str, Any]:
    """Return the command for a step; a read for people gets the time limit, if there is one."""
    document = dict(step.document)
    if step.writes and not inside:
        document["writeConcern"] = {"w": "majority"}
    if step.bounded and limit is not None:
        document["maxTimeMS"] = limit // timedelta(milliseconds=1)
    return document


def no_transactions() -> NotSupported:
    """Return the error for a plan that needs a transaction on a server without transactions."""
    return NotSupported(
        "several messages change together only in a transaction, which MongoDB has on a replica set or a sharded "
        "cluster (one member is enough); this server is neither, or transactions=off was given"
    )


def no_handlers_transactions() -> NotSupported:
    """Return the error for a transactional handler on a server without transactions."""
    return NotSupported(
        "a handler's transaction needs MongoDB's transactions, which a replica set or a sharded cluster has (one "
        "member is enough); this server is neither, or transactions=off was given"
    )


def state_of(session: Any, mark: object) -> TransactionState:
    """Return the state of the session's transaction with this mark; "committed" unless another state is certain."""
    if mark_of(session) is not mark:
        return "committed"
    if session.in_transaction:
        return "open"
    return "rolled back" if session._transaction.state.name == "ABORTED" else "committed"


def mark_of(session: Any) -> object:
    """Return a mark that distinguishes a session's transaction from later ones: its options object."""
    return session._transaction.opts


def cluster_of(hello: Mapping[str, Any]) -> Hashable:
    """Return the identity of a cluster from its primary's description of itself; None if it cannot be known.

    A server process has an id, and a replica set has one primary. A router does not report its cluster.
    """
    if "setName" not in hello:
        return None
    process = hello.get("topologyVersion", {}).get("processId")
    return str(process) if process else (hello["setName"], *sorted(hello.get("hosts", ())))


def differ(ours: Hashable, theirs: Hashable) -> bool:
    """Return whether these are known to be two different clusters."""
    return ours is not None and theirs is not None and ours != theirs


def another_cluster(ours: Any, theirs: Any) -> ConfigurationError:
    """Return the error for a session whose client is connected to another cluster."""
    return ConfigurationError(
        f"within= is a session of another database: the queue is on {_hosts(ours)}, and its client leads to "
        f"{_hosts(theirs)}; give a session of a client of the queue's own servers, or open the queue there"
    )


def _hosts(client: Any) -> str:
    return ", ".join(sorted(f"{host}:{port}" for host, port in client.nodes)) or repr(client)
