"""Copy a queue from one database to another: the request, the messages under way, and the report.

A move first stops each message in the source and gives it two headers: the unique name under which it arrives in the
other database, and its due time. Until the message has left, it is not handed out, and any later call, no matter how
much later, can tell from the headers what is left to do.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final, TypeVar
from uuid import uuid4

import msgspec
from msgspec.structs import replace

from duerow.conditions.fields import Subject
from duerow.conditions.model import Condition
from duerow.errors import ConfigurationError, NotSupported, shown
from duerow.message import Scalar, check_queue_name, check_span
from duerow.payload import codec
from duerow.payload.dead_letter_headers import FROM, home
from duerow.payload.encoding import PLAIN, SETS, Payloads, Stored, sealed_of
from duerow.phrases import Argument
from duerow.queue.definition import Definition, decoded, differences
from duerow.reservation import Receipt
from duerow.store import Arrival, Capabilities, Change, Committed, HistoryRow, QueueSettings, Record, Turn
from duerow.where import as_condition

COPYING: Final = "copying"
"""The header of a message that is under way to another database: the name under which it arrives there."""

COPYING_DUE: Final = "copying-due"
"""The header that goes with it and holds the due time; absent if the message was stopped or dead."""

BATCH: Final = 200
"""How many messages are copied in one transaction; a payload can be up to 1 MiB."""

TURNS: Final = 200
"""How many turns are read at a time."""


class Copied(msgspec.Struct, frozen=True, gc=False):
    """The result of a copy; true if nothing was left behind.

    Attributes:
        messages: how many messages of the queue arrived in the target in this call, live and dead.
        dead: how many of them are dead.
        letters: how many of the queue's dead letters arrived in its dead-letter queue.
        turns: how many turns arrived, from the queue's history and from that of its dead letters.
        before: how many messages and dead letters had arrived in earlier calls.
        turns_before: how many turns had arrived in earlier calls.
        leased: how many messages were leased: a copy includes them, due when the lease ends; a move leaves them behind.
        taken: the ids, in the source, of messages left behind because a live message in the target has their key.
        behind: how many were left behind because they wait in a group behind such a message.
        changed: how many were left behind because somebody changed them at that moment.
        moved: whether it was a move.
    """

    messages: int = 0
    dead: int = 0
    letters: int = 0
    turns: int = 0
    before: int = 0
    turns_before: int = 0
    leased: int = 0
    taken: tuple[int, ...] = ()
    behind: int = 0
    changed: int = 0
    moved: bool = False

    @property
    def left(self) -> int:
        """How many messages and dead letters are only in the source."""
        return len(self.taken) + self.behind + self.changed + (self.leased if self.moved else 0)

    def __bool__(self) -> bool:
        return self.left == 0


Either = TypeVar("Either", Record, HistoryRow)


class Route(msgspec.Struct, frozen=True):
    """A source and a target queue; for a dead-letter queue also the queue whose letters to copy, and its new name."""

    queue: str
    to: str
    letters_of: tuple[str, str] | None = None

    @property
    def renames(self) -> bool:
        """Whether messages on this route end up in a queue with another name."""
        return self.queue != self.to or (self.letters_of is not None and self.letters_of[0] != self.letters_of[1])

    def which(self, subject: Subject, more: str | None = None) -> Condition | None:
        """Return the condition that selects the messages, or turns, on this route."""
        parts = [] if more is None else [more]
        if self.letters_of is not None:
            parts.append(f"headers.\"{FROM}\" = '{self.letters_of[0]}'")
        return as_condition(" and ".join(parts), subject) if parts else None

    def headers(self, headers: str | None) -> str | None:
        """Return headers in the form that they have in the target."""
        if self.letters_of is None or self.letters_of[0] == self.letters_of[1]:
            return headers
        return codec.encode_headers({**codec.decode_headers(headers), FROM: self.letters_of[1]}, limited=False)


@dataclass(kw_only=True)
class Asked:
    """A checked request to copy.

    Attributes:
        routes: the queue's route, and that of its dead-letter queue if that is copied too.
        move: whether messages leave the source.
        history: how long the target keeps turns, by its queue; no entry for a queue whose turns are left out.
        definitions: the definitions that queues of the target take over from the source.
        name: the name of the copy.
        payloads: encrypts payloads again if their message goes to a queue with another name.
        paused: the source queues that hand nothing out, so that groups can leave in order.
        begun: the names under which the target records that copies have begun, as far as they have been looked up.
    """

    routes: list[Route]
    move: bool
    name: str
    payloads: Payloads = PLAIN
    paused: set[str] = field(default_factory=set)
    begun: set[str] = field(default_factory=set)
    history: dict[str, timedelta] = field(default_factory=dict)
    definitions: dict[str, Definition] = field(default_factory=dict)

    def beginning(self, place: object, route: Route) -> str:
        """Return the name under which the target records that this copy has begun."""
        return _hashed("begin", self.move, self.name, place, route.queue, route.to)

    def name_of(self, record: Record) -> str:
        """Return the name under which a copy of a message arrives; it is the same each time the message is copied."""
        return _hashed("copy", self.name, record.queue, record.id, record.created_at)

    def arrival(self, record: Record, route: Route) -> Arrival:
        """Return a message as it arrives, without the headers that it had on the way."""
        name, due = under_way(record), record.due_at
        headers = record.headers
        if name is not None:
            headers, due = restored(record)
        there = replace(record, queue=route.to, headers=route.headers(headers), due_at=due)
        return Arrival(name or self.name_of(record), self._belonging(record, there))

    def turn(self, past: HistoryRow, route: Route) -> Arrival:
        """Return a turn as it arrives."""
        name = _hashed("turn", self.name, past.queue, past.id, past.token, past.created_at, past.finished_at)
        there = replace(past, queue=route.to, headers=route.headers(past.headers))
        return Arrival(name, self._belonging(past, there))

    def _belonging(self, before: Stored, after: Either) -> Either:
        """Return the arriving message or turn; an encrypted payload is encrypted again if it changes queues."""
        sealed = sealed_of(before)
        if sealed is None:
            return after
        at_home = home(before.queue, before.key, before.headers)
        anew = self.payloads.moved(sealed, at_home, after.queue, after.key, after.headers)
        return after if anew is None else replace(after, kind=anew.kind, payload=anew.text)


@dataclass
class CopyCount:
    """The report in progress; each pass recounts what is left."""

    moved: bool
    messages: int = 0
    dead: int = 0
    letters: int = 0
    turns: int = 0
    before: int = 0
    turns_before: int = 0
    leased: int = 0
    taken: list[int] = field(default_factory=list)
    behind: int = 0
    changed: int = 0
    known: set[int] = field(default_factory=set)

    def arrived(self, record: Record, route: Route) -> None:
        """Count a message that this call copied; a later pass may report it as having arrived earlier."""
        if route.letters_of is None:
            self.messages += 1
            self.dead += record.status == "dead"
        else:
            self.letters += 1
        self.known.add(record.id)

    def came_before(self, record: Record) -> None:
        """Count a message that had already arrived, unless this call copied it."""
        self.before += record.id not in self.known
        self.known.add(record.id)

    @property
    def arrivals(self) -> int:
        """How many messages are in the target now, as far as this call knows."""
        return self.messages + self.letters + self.before

    def look_again(self) -> None:
        """Reset the counts of what was left, for another pass."""
        self.leased = self.behind = self.changed = 0
        self.taken = []

    def add(self, other: CopyCount) -> None:
        """Add another count."""
        for name in ("messages", "dead", "letters", "turns", "before", "turns_before", "leased", "behind", "changed"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.taken += other.taken

    def report(self) -> Copied:
        """Return the finished report."""
        return Copied(
            self.messages,
            self.dead,
            self.letters,
            self.turns,
            self.before,
            self.turns_before,
            self.leased,
            tuple(self.taken),
            self.behind,
            self.changed,
            self.moved,
        )


def check_asked(
    queue: str, to: str | None, name: object, history: timedelta | None
) -> tuple[str, str, timedelta | None]:
    """Return both queues and how long to keep history.

    Raises:
        InvalidMessage: a queue name is invalid, or `history` is out of bounds.
        ConfigurationError: the queue holds sets of a join, or the copy's name is invalid.
    """
    source, target = check_queue_name(queue), check_queue_name(queue if to is None else to)
    if source.endswith(SETS):
        raise ConfigurationError(
            f"queue {source!r} holds sets of a join, whose parts are in other queues, so it cannot be copied; let the "
            "pipeline run until no sets are left"
        )
    if not isinstance(name, str) or not name:
        raise ConfigurationError(Argument("name"), f" must be text, not {shown(name)}; it names the copy")
    return source, target, None if history is None else check_span("history", history, timedelta(0))


def routes_of(queue: str, to: str, definition: Definition | None) -> list[Route]:
    """Return the route of a queue, and the route of its dead letters if its definition names a dead-letter queue."""
    letters = None if definition is None else definition.dead_letter
    return [Route(queue, to), *([] if letters is None else [Route(letters, letters, (queue, to))])]


def check_target(target: Capabilities) -> None:
    """Raise NotSupported unless the target can receive messages from another database exactly once."""
    if not target.receives:
        raise NotSupported(
            "the target cannot receive messages from another database: its store lacks transactions that span several "
            "messages, or cannot receive messages; copy into another database, such as SQLite"
        )


def definition_of(said: Iterable[QueueSettings], queue: str) -> Definition | None:
    """Return the definition of a queue.

    Raises:
        ConfigurationError: it was written by a version whose format this one does not understand.
    """
    for one in said:
        if one.queue == queue:
            return decoded(queue, one.definition)
    return None


def check_settings(route: Route, ours: Definition | None, theirs: Definition | None, keep_settings: bool) -> None:
    """Raise ConfigurationError if target and source declare the queue differently, unless `keep_settings` is set."""
    if ours is None or theirs is None or keep_settings:
        return
    if found := differences(theirs, ours):
        said = "; ".join(f"{one.name}: target {one.stored}, source {one.declared}" for one in found)
        raise ConfigurationError(
            f"queue {route.to!r} of the target and queue {route.queue!r} of the source have different settings "
            f"({said}); declare them in the same way, or pass ",
            Argument("keep_settings", True),
            " to keep those of the target",
        )


def leaves_for_another(route: Route) -> ConfigurationError:
    """Return the error for messages under way that the target has no record of."""
    return ConfigurationError(
        f"messages of queue {route.queue!r} are under way to another database and may be there already: a move was "
        "interrupted; repeat that call, within 30 days, before moving the queue to this database"
    )


def is_in_both(id: int, route: Route) -> ConfigurationError:
    """Return the error for a message that is in both databases although no copy has begun."""
    return ConfigurationError(
        f"message {id} in queue {route.queue!r} is in the source and in the target: they are the same tables, reached "
        "in two ways, or one is a copy of the other; choose another name with ",
        Argument("to"),
    )


def under_way(what: Record) -> str | None:
    """Return the name under which a message arrives in another database; None if it is not under way."""
    if what.headers is None or COPYING not in what.headers:
        return None
    name = codec.decode_headers(what.headers).get(COPYING)
    return name if isinstance(name, str) else None


def new_name(beginning: str) -> str:
    """Return a unique name for a leaving message, which identifies its move."""
    return beginning.replace("copy/", "move/") + uuid4().hex


def beginning_of(record: Record) -> str:
    """Return the name under which the target of a message under way records that the move has begun."""
    return "copy/" + (under_way(record) or "").removeprefix("move/").rpartition("/")[0] + "/"


def set_out(record: Record, name: str) -> Change:
    """Return the change that stops a message before it moves to another database."""
    headers: dict[str, Scalar] = dict(codec.decode_headers(record.headers))
    headers[COPYING] = name
    if record.due_at is not None:
        headers[COPYING_DUE] = record.due_at.isoformat()
    marked = codec.encode_headers(headers, limited=False)
    return Change(record, headers=marked) if record.due_at is None else Change(record, headers=marked, due=None)


def give_back(record: Record) -> Change:
    """Return the change that restores a message that will not move after all."""
    headers, due = restored(record)
    return Change(record, headers=headers) if due is None else Change(record, headers=headers, due=due)


def restored(record: Record) -> tuple[str | None, datetime | None]:
    """Return the headers and the due time that a message under way had before."""
    headers = dict(codec.decode_headers(record.headers))
    headers.pop(COPYING, None)
    due = headers.pop(COPYING_DUE, None)
    return codec.encode_headers(headers, limited=False), datetime.fromisoformat(due) if isinstance(due, str) else None


def gone(record: Record) -> Turn:
    """Return the turn that removes an arrived message: it is fenced by the token and frees the group's next message."""
    group = None if record.group is None else (record.queue, record.group)
    return Turn(Receipt(record.id, record.token), Committed(), group)


def waves(records: Iterable[Record]) -> list[list[Record]]:
    """Split messages into parts with at most one message of each group, earlier messages of a group first."""
    parts: list[list[Record]] = []
    seen: dict[str, int] = {}
    for record in records:
        turn = 0 if record.group is None else seen.get(record.group, 0)
        if record.group is not None:
            seen[record.group] = turn + 1
        if turn == len(parts):
            parts.append([])
        parts[turn].append(record)
    return parts


def _hashed(*parts: object) -> str:
    """Return a name of 40 characters, derived from parts that identify one thing."""
    said = "\n".join(part.isoformat() if isinstance(part, datetime) else str(part) for part in parts)
    return "copy/" + hashlib.blake2b(said.encode(), digest_size=17).hexdigest() + "/"
