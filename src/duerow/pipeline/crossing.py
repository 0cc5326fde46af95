"""The station where messages wait for a queue in another database, and what it decides about each of them.

A message is first pushed to the other database, under a unique name that the other database records in the same
transaction. Only then does its turn end in this database, fenced like any other turn. If the process dies in between,
the message is handed out again, and the second push changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import uuid4

from duerow.errors import ConfigurationError, DuplicateKey, NotSupported
from duerow.lineage import CROSSING, crossed
from duerow.message import Message
from duerow.payload.codec import Encoded, encode_headers
from duerow.payload.encoding import Payloads, StoredPayload
from duerow.pipeline.elsewhere import Elsewhere
from duerow.pipeline.graph import Node
from duerow.pipeline.stations import Station
from duerow.queue.mapping import HOPS, hops
from duerow.retry import RetryPolicy, exponential
from duerow.settlement import Bury, Commit, Move, Settlement
from duerow.store import Arrival, Capabilities, Reception, Record
from duerow.store.retention import NOTED_FOR

BATCH: Final = 200
"""The maximum number of messages that are sent in one transaction."""

UNSURE_AFTER: Final = NOTED_FOR - timedelta(days=1)
"""How long after its possible arrival a message can be sent again; the day's margin allows for clocks that differ."""

DELAYS: Final[RetryPolicy] = exponential(first=timedelta(seconds=1), maximum=timedelta(minutes=1))
"""The delays after failed attempts. There is no limit on attempts, because the message is not at fault."""


def _forwarded(message: Message) -> None:
    raise NotSupported("messages for another database are sent by the process that runs the pipeline")


@dataclass(frozen=True)
class Crossing(Station):
    """The queue in which messages wait for a queue in another database; a pipeline adds one for each such target.

    Args:
        name: the name of the queue in this database.
        there: the queue to which the messages go.
    """

    _: KW_ONLY
    there: Elsewhere

    @property
    def ways(self) -> Mapping[str, str]:
        """Empty: messages do not go to any other queue in this database."""
        return {}

    def node(self) -> Node:
        """Return it as it appears in a drawing."""
        return Node(self.name, "crossing", {}, "", note=f"to {self.there}", elsewhere=self._place)

    @property
    def _place(self) -> str:
        return f"{self.there.queue} in {self.there.database}"

    def _end(self, message: Message, returned: Any) -> Settlement:
        raise AssertionError("a message for another database ends once it has arrived there")

    def check_target(self, capabilities: Capabilities, is_here: bool, would_show: bool) -> None:
        """Raise an error if messages cannot go to the other queue.

        Args:
            capabilities: the capabilities of the other store.
            is_here: whether the other database is the one in which the messages wait.
            would_show: whether payloads are encrypted in this database and would be clear text in the other.

        Raises:
            NotSupported: the other database cannot remember what has arrived.
            ConfigurationError: the other database is this one, or has no encryption keys although this one does.
        """
        if is_here:
            raise ConfigurationError(
                f"{self.there} is in the database that the pipeline runs on; name it like any other queue: "
                f"to={self.there.queue!r}"
            )
        if would_show:
            raise ConfigurationError(
                f"payloads are encrypted here, and would be in clear text in {self.there}; open that database with "
                "encryption=…, too"
            )
        if not capabilities.receives:
            raise NotSupported(
                f"messages cannot be sent to {self.there} exactly once: it does not record what has arrived, because "
                "its store lacks transactions that span several messages, or is reached over HTTP; connect to the "
                "database itself, or to another one, such as postgresql://"
            )

    def decided(self, message: Message, max_hops: int) -> Settlement | None:
        """Return how a message's turn ends if the message must not be sent now; None if it can be sent."""
        if hops(message) >= max_hops:
            return self._too_far(message, str(self.there), hops(message), max_hops)
        if not isinstance(message.headers.get(CROSSING), str):
            return Move(self.name, headers={CROSSING: uuid4().hex})  # not sent by a station, so it has no name yet
        if _is_unsure(message):
            return Bury(
                f"message {message.id} may have arrived in {self.there} more than {UNSURE_AFTER.days} days ago, and "
                "that database may have forgotten it: look there for a message whose header came-as is "
                f"'{name_of(message)}'. If there is none, requeue this one; otherwise remove it"
            )
        return None

    def arrival(self, message: Message, here: Payloads, there: Payloads, now: datetime) -> Arrival:
        """Return a message in the form in which it arrives in the other database.

        Args:
            message: the message, with its payload as stored.
            here: reads its payload.
            there: writes its payload for the other queue.
            now: the time in the other database.

        Raises:
            CodecError: its payload is encrypted and cannot be read here.
        """
        name, queue = name_of(message), self.there.queue
        headers = crossed(name, message.queue, message.id, message.headers) | {HOPS: hops(message) + 1}
        stored: Encoded = message.payload
        where = message.queue, message.key, message.headers
        encoded = here.opened(StoredPayload(*where, stored.kind, stored.text))
        key, kept = there.key(message.key), encode_headers(headers, limited=False)
        sealed = there.seal(encoded, queue, key, kept)
        record = Record(
            id=message.id,
            queue=queue,
            payload=sealed.text,
            kind=sealed.kind,
            key=key,
            headers=kept,
            group=message.group,
            priority=message.priority,
            status="new",
            due_at=now,
            first_due_at=now,
            attempts=0,
            token=0,
            leased_by=None,
            leased_until=None,
            created_at=message.created_at,
            last_attempt_at=None,
            last_error=None,
        )
        return Arrival(name, record)

    def ended(self, message: Message, reception: Reception) -> Commit | DuplicateKey:
        """Return how a message's turn ends, given the other database's answer."""
        if reception == "refused":
            return DuplicateKey(self.there.queue, [str(message.key)])
        return Commit(log=f"arrived in {self.there} as {name_of(message)}")


def crossing(there: Elsewhere) -> Crossing:
    """Return the station in which messages wait for this queue in another database."""
    return Crossing(there.name, _forwarded, there=there, retry=DELAYS, history=there.history)


def name_of(message: Message) -> str:
    """Return the name under which a message arrives; copies of it have other ids and arrive under other names."""
    return f"{message.headers[CROSSING]}/{message.id}"


def _is_unsure(message: Message) -> bool:
    """Return whether an earlier attempt may have sent a message so long ago that the other database has forgotten it.

    Attempts that did not reach the other database do not matter. If the last attempt failed because the key was taken,
    neither it nor any earlier attempt has sent the message.
    """
    error, last = message.last_error, message.last_attempt_at
    if message.attempts < 2 or last is None or (error is not None and error.type == DuplicateKey.__name__):
        return False
    since = message.first_due_at if message.due_at is None else min(message.first_due_at, message.due_at)
    return last - since > UNSURE_AFTER
