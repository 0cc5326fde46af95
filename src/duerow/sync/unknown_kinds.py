# Generated from ../aio/unknown_kinds.py by tools/generate_sync.py; edit that file instead.
"""What a queue does with messages of kinds that it does not know: it leaves them to consumers that do, and says so."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from duerow.message import LIVE
from duerow.payload.codec import SEALED, decode_failure
from duerow.store import GivenUp
from duerow.where import field

if TYPE_CHECKING:
    from duerow.conditions.model import Condition
    from duerow.payload.encoding import Payloads
    from duerow.queue.counts import Counts
    from duerow.sync.database import Database

LOG: Final = logging.getLogger("duerow.queue")


class UnknownKinds:
    """The part of a queue that knows which kinds of payloads it can read; see `Queue`.

    Claims ask for all kinds until one meets a message of an unknown kind, and gives it back as it was. From then on
    they ask for the known ones alone, until a look finds no others.
    """

    database: Database
    name: str
    _payloads: Payloads

    if TYPE_CHECKING:

        def count(self, where: Condition, *, by: str) -> Counts: ...  # noqa: D102

    def __init__(self) -> None:
        kinds = self._payloads.kinds
        self._known = frozenset(kinds) | {f"{kind}{SEALED}" for kind in kinds}
        self._only: frozenset[str] | None = None
        self._unknown: Mapping[str, int] = {}

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of payloads that its consumers can read."""
        return self._payloads.kinds

    @property
    def kinds_of(self) -> Mapping[tuple[str, ...], tuple[str, ...]]:
        """The kinds that a worker of it can read, by the names of the queues of which it can."""
        return {(self.name,): self.kinds}

    @property
    def only(self) -> Mapping[str, Collection[str]]:
        """The kinds that claims ask for, by the queue's name, if they do not ask for all."""
        return {} if self._only is None else {self.name: self._only}

    @property
    def unknown(self) -> Mapping[str, Mapping[str, int]]:
        """How many messages of unknown kinds were there at the last look, by the queue's name and their kinds."""
        return {self.name: self._unknown} if self._unknown else {}

    def look_for_unknown(self) -> None:
        """Count what claims leave, and say so if there are kinds among it of which nothing was said yet."""
        if self._only is None:
            return
        live = field("status").in_(LIVE)
        found: Mapping[str, int] = self.count(field("kind").not_in(self._known) & live, by="kind")
        if new := found.keys() - self._unknown.keys():
            LOG.error(
                "%d messages of %s are left, of kinds that this consumer does not know: %s; it knows %s. Start a "
                "consumer that knows them, or give this one their type: queue(…, payload=…), --payload MODULE:TYPE",
                sum(found.values()),
                self.name,
                ", ".join(sorted(map(repr, found))),
                ", ".join(self.kinds),
                extra={"queue": self.name, "kinds": sorted(new), "count": sum(found.values())},
            )
        if not found:
            self._only = None
        self._unknown = found

    def _meet_unknown(self) -> None:
        """A claim has met a message of an unknown kind: ask for the known ones from now on."""
        self._only = self._known
        self.look_for_unknown()

    def _given_up(self, buried: Sequence[GivenUp]) -> None:
        """A claim has buried messages, since their last allowed attempts ended with their consumers."""
        self.database.meter.buried(self.name, len(buried))
        for one in buried:
            why = decode_failure(one.error)
            self._tell_buried(one.id, one.key, one.attempts, "no reason given" if why is None else why.message)

    def _tell_buried(self, id: int, key: str | None, attempts: int, cause: str) -> None:
        named = {"queue": self.name, "message_id": id, "key": key, "attempt": attempts, "cause": cause}
        LOG.error("message %s of %s is buried after attempt %d: %s", id, self.name, attempts, _line(cause), extra=named)


def _line(text: str) -> str:
    return " ".join(text.split())[:500]
