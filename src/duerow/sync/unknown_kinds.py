# Generated from ../aio/unknown_kinds.py by tools/generate_sync.py; edit that file instead.
"""How a queue treats messages of unknown kinds: it leaves them to consumers that know them, and logs this."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Final

from duerow.conditions.model import Condition
from duerow.message import LIVE
from duerow.payload.codec import BYTES, JSON, SEALED, decode_failure
from duerow.payload.encoding import ANY_KIND
from duerow.queue.beside import is_own, marks
from duerow.store import GivenUp, Query
from duerow.sync.edits import Edits
from duerow.sync.handle import P
from duerow.where import field

LOG: Final = logging.getLogger("duerow.queue")

MOST_UNKNOWN: Final = 1_000
"""How many messages of unknown kinds are counted if the store cannot count them."""

_PLAIN: Final = frozenset({JSON, BYTES, JSON + SEALED, BYTES + SEALED})


class UnknownKinds(Edits[P]):
    """The part of a queue that knows which kinds of payloads it can read; see `Queue`.

    Claims ask for all kinds until one of them gets a message of an unknown kind and releases it. From then on they ask
    only for known kinds, until `look_for_unknown` finds no others.
    """

    _only: frozenset[str] | None = None
    _unknown: Mapping[str, int] = MappingProxyType({})

    @cached_property
    def _known(self) -> frozenset[str]:
        return frozenset(self.kinds) | {f"{kind}{SEALED}" for kind in self.kinds}

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of payloads that its consumers can read."""
        return self._payloads.kinds

    @property
    def kinds_of(self) -> Mapping[tuple[str, ...], tuple[str, ...]]:
        """The kinds that a worker of this queue can read, by the names of the queues."""
        return {(self.name,): self.kinds}

    @property
    def only(self) -> Mapping[str, Collection[str]]:
        """The kinds that claims ask for, by the queue's name; empty if they ask for all kinds."""
        only = self._only  # a claim in another thread may change it
        return {} if only is None else {self.name: only}

    @property
    def unknown(self) -> Mapping[str, Mapping[str, int]]:
        """How many messages of unknown kinds the last check found, by queue name and kind."""
        return {self.name: self._unknown} if self._unknown else {}

    def knows_kind(self, kind: str) -> bool:
        """Return whether consumers of this queue can read payloads of this stored kind."""
        return kind in self._known or self._takes_all

    @cached_property
    def _takes_all(self) -> bool:
        """Whether it takes messages of every kind, because it does not need to know their types."""
        return ANY_KIND in self._known

    def _leave_own(self) -> None:
        """Make the next claim leave duerow's own messages alone, for a handle that takes messages of every kind.

        A claim can only ask for kinds that it names, so the kinds of the application's messages are read first. If a
        message of another kind arrives meanwhile, a later claim takes it.
        """
        own = marks(self.name) if self._takes_all else ()
        if own:
            found = self._count_by_kind(field("kind").not_in(own) & field("status").in_(LIVE))
            self._only = _PLAIN | found.keys()

    def look_for_unknown(self) -> None:
        """Count the messages that claims skip, and log kinds that were not logged before."""
        if self._only is None or self._takes_all:
            return
        skipped = self._count_by_kind(field("kind").not_in(self._known) & field("status").in_(LIVE))
        # Messages that duerow itself keeps in a queue of this name wait for no consumer: maintenance deletes them.
        found = {kind: count for kind, count in skipped.items() if not is_own(kind)}
        if new := found.keys() - self._unknown.keys():
            LOG.error(
                "%d messages of %s were skipped because this consumer does not know their kinds: %s; it knows %s. "
                "Start one that does, or give this one their type: queue(…, payload=…), --payload MODULE:TYPE",
                sum(found.values()),
                self.name,
                ", ".join(sorted(map(repr, found))),
                ", ".join(self.kinds),
                extra={
                    "event": "unknown-kinds",
                    "queue": self.name,
                    "kinds": sorted(new),
                    "count": sum(found.values()),
                },
            )
        if not skipped:
            self._only = None
        self._unknown = found

    def _count_by_kind(self, where: Condition) -> Mapping[str, int]:
        store = self.database.store
        if "operations" in store.capabilities.parts:
            return self.count(where, by="kind")
        query = Query(self.name, where=where, limit=MOST_UNKNOWN)
        return Counter(record.kind for record in self.database.run(lambda: store.messages.find(query)))

    def _found_unknown(self) -> None:
        """Ask only for known kinds from now on: a claim got a message of an unknown kind."""
        self._only = self._known
        self.look_for_unknown()

    def _given_up(self, buried: Sequence[GivenUp]) -> None:
        """Log messages that a claim buried because consumers died during their last allowed attempts."""
        self.database.metrics.buried(self.name, len(buried))
        for one in buried:
            why = decode_failure(one.error)
            self._tell_buried(one.id, one.key, one.attempts, "no reason given" if why is None else why.message)

    def _tell_buried(self, id: int, key: str | None, attempts: int, cause: str) -> None:
        named = {"event": "buried", "queue": self.name, "message_id": id, "key": key, "attempt": attempts}
        named["cause"] = cause
        LOG.error("message %s of %s is buried after attempt %d: %s", id, self.name, attempts, _line(cause), extra=named)


def _line(text: str) -> str:
    return " ".join(text.split())[:500]
