"""The parts of the contract as requests; `duerow.store.contract` documents each operation."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final, NoReturn

from msgspec.structs import replace

from duerow.conditions.fields import Path
from duerow.conditions.model import Condition
from duerow.errors import ConfigurationError, NotSupported
from duerow.message import OnDuplicate, Pushed
from duerow.plan import Plan
from duerow.reservation import Receipt
from duerow.store import (
    Change,
    Committed,
    Consumer,
    Counted,
    Counters,
    End,
    Entry,
    GivenUp,
    HistoryQuery,
    HistoryRow,
    Indexed,
    Indexing,
    Inspection,
    Joined,
    Query,
    QueueSettings,
    QueueStats,
    Record,
    Refused,
    Removal,
    Reserved,
    Retention,
    ScheduleChange,
    SchedulesFound,
    StoredPipeline,
    Tally,
    Turn,
)
from duerow.store.consumer_id import new_claim
from duerow.store.wire import calls
from duerow.store.wire.calls import PROTOCOL, About
from duerow.stores.http.requests import Requests

PIECE: Final = 1_000
"""The maximum number of messages that one request reserves, because each may have 1 MiB."""

POPPING: Final = timedelta(minutes=1)
"""How long a popped message is leased until it is committed."""


class _Part:
    """A part of the contract.

    Args:
        requests: sends requests to the server.
    """

    def __init__(self, requests: Requests) -> None:
        self._requests = requests
        self._ask = requests.ask

    def _records(self, name: str, call: calls.StoreCall) -> Plan[list[Record]]:
        records: list[Record] = yield from self._ask(name, call)
        self._requests.seen(records)
        return records


class HttpMessages(_Part):
    """Push, reserve and settle; see `duerow.store.MessageStore`."""

    def push(
        self, entries: Sequence[Entry], on_duplicate: OnDuplicate, remembered: bool = False, once: str | None = None
    ) -> Plan[list[Pushed]]:
        """Add messages."""
        call = calls.PushCall([*entries], on_duplicate, remembered, once)
        return self._ask("messages.push", call)

    def reserve(
        self,
        queue: str,
        limit: int,
        lease: timedelta,
        attempts: int | None,
        consumer: str,
        dead_letter: str | None = None,
        keep: Retention | None = None,
        kinds: Collection[str] | None = None,
        apart: bool = False,
        exact: bool = True,
    ) -> Plan[Reserved]:
        """Reserve due messages, up to a thousand per request."""
        known = None if kinds is None else [*kinds]
        records: list[Record] = []
        buried: list[GivenUp] = []
        while True:
            piece = min(limit - len(records), PIECE)
            call = calls.ReserveCall(queue, piece, lease, attempts, consumer, dead_letter, keep, known, apart)
            found: Reserved = yield from self._ask("messages.reserve", call)
            self._requests.seen(found.records)
            records += found.records
            buried += found.buried
            if len(found.records) < piece or len(records) >= limit:
                return Reserved(records, buried)

    def extend(self, receipts: Sequence[Receipt], lease: timedelta) -> Plan[dict[Receipt, datetime]]:
        """Extend leases."""
        queues = [self._requests.queue_of(one.id) for one in receipts]
        return dict((yield from self._ask("messages.extend", calls.ExtendCall([*receipts], lease, queues))))

    def settle(self, turns: Sequence[Turn], keep: Retention | None = None) -> Plan[list[Refused]]:
        """End turns."""
        for turn in turns:
            _refuse_function(turn.end)
        queues = [self._requests.queue_of(turn.receipt.id) for turn in turns]
        return self._ask("messages.settle", calls.SettleCall([*turns], queues, keep))

    def pop(
        self,
        queue: str,
        limit: int,
        keep: Retention | None = None,
        kinds: Collection[str] | None = None,
        apart: bool = False,
    ) -> Plan[list[Record]]:
        """Reserve and commit, so that a lost response loses no message."""
        lent = yield from self.reserve(queue, limit, POPPING, None, new_claim(), None, keep, kinds, apart)
        turns = [
            Turn(Receipt(one.id, one.token), Committed(), None if one.group is None else (queue, one.group))
            for one in lent.records
        ]
        lost = {one.receipt for one in ((yield from self.settle(turns, keep)) if turns else [])}
        return [one for one in lent.records if Receipt(one.id, one.token) not in lost]

    def find(self, query: Query) -> Plan[list[Record]]:
        """Read messages, a thousand per request if their order allows the next request to continue."""
        found: list[Record] = []
        while True:
            page = _page(query, found)
            records = yield from self._records("messages.find", calls.FindCall(page))
            found += records
            if len(records) < page.limit or len(found) >= query.limit:
                return found

    def next_due(
        self,
        queues: Sequence[str],
        until: timedelta,
        kinds: Mapping[str, Collection[str]] | None = None,
        relied_on: bool = False,
    ) -> Plan[timedelta | None]:
        """Return how long until the next message is due."""
        known = None if kinds is None else {queue: [*names] for queue, names in kinds.items()}
        if relied_on and until:  # two requests, which servers of all versions support
            yield from self._ask("messages.next_due", calls.NextDueCall([*queues], until, known))
            until = timedelta(0)
        wait: timedelta | None = yield from self._ask("messages.next_due", calls.NextDueCall([*queues], until, known))
        return wait


class HttpOperations(_Part):
    """Inspect queues and change messages; see `duerow.store.OperationStore`."""

    def peek(self, queue: str, limit: int) -> Plan[list[Record]]:
        """Read due messages."""
        return self._records("operations.peek", calls.PeekCall(queue, limit))

    def count(self, queue: str) -> Plan[dict[str, int]]:
        """Count messages by status."""
        return self._ask("operations.count", calls.QueueCall(queue))

    def tally(
        self, queue: str, where: Condition | None, by: Path | None, limit: int | None, indexed: tuple[Indexed, ...] = ()
    ) -> Plan[Tally]:
        """Count messages by the value at a path."""
        return self._ask("operations.tally", calls.TallyCall(queue, where, by, limit, indexed))

    def queue_stats(self, queue: str, cap: int | None) -> Plan[QueueStats]:
        """Return the state of a queue."""
        return self._ask("operations.queue_stats", calls.StatsCall(queue, cap))

    def inspect(self, queue: str, id: int | None, key: str | None) -> Plan[Inspection | None]:
        """Read a message and what may prevent its delivery."""
        found: Inspection | None = yield from self._ask("operations.inspect", calls.InspectCall(queue, id, key))
        self._requests.seen([] if found is None else [found.record])
        return found

    def queues(self, with_empty: bool = False) -> Plan[list[str]]:
        """List the queues that the account may see."""
        return self._ask("operations.queues", calls.QueuesCall(with_empty))

    def change(self, queue: str, changes: Sequence[Change], even_if_leased: bool, dry_run: bool) -> Plan[list[Refused]]:
        """Change messages."""
        sent = [calls.Alteration.of(one) for one in changes]
        return self._ask("operations.change", calls.ChangeCall(queue, sent, even_if_leased, dry_run))

    def remove(
        self, queue: str, ids: Sequence[int], keys: Sequence[str], even_if_leased: bool, keep: Retention | None = None
    ) -> Plan[Removal]:
        """Remove messages from the queue."""
        call = calls.RemoveCall(queue, [*ids], [*keys], even_if_leased, keep)
        return self._ask("operations.remove", call)

    def purge(self, queue: str, limit: int, last: int) -> Plan[int]:
        """Delete messages, whatever their state."""
        return self._ask("operations.purge", calls.PurgeCall(queue, limit, last))


class HttpHistory(_Part):
    """Finished turns; see `duerow.store.HistoryStore`."""

    def find(self, query: HistoryQuery) -> Plan[list[HistoryRow]]:
        """Read turns."""
        return self._ask("history.find", calls.HistoryCall(query))

    def prune(self, limit: int) -> Plan[int]:
        """Delete expired history."""
        return self._ask("history.prune", calls.PruneCall(limit))


class HttpMetadata(_Part):
    """Settings of queues, schedules, pipelines and consumers; see `duerow.store.MetadataStore`."""

    def put_settings(
        self, queue: str, paused: bool | None = None, draining: bool | None = None, definition: str | None = None
    ) -> Plan[None]:
        """Record the settings of a queue."""
        call = calls.PutSettingsCall(queue, paused, draining, definition)
        return self._ask("metadata.put_settings", call)

    def settings(self, queue: str | None = None) -> Plan[list[QueueSettings]]:
        """Read the settings of queues."""
        return self._ask("metadata.settings", calls.SettingsCall(queue))

    def index(self, queue: str, fields: Sequence[Indexed], dry_run: bool) -> Plan[Indexing]:
        """Create indexes for payload fields."""
        return self._ask("metadata.index", calls.IndexCall(queue, [*fields], dry_run))

    def set_schedule(self, change: ScheduleChange) -> Plan[bool]:
        """Change a schedule and push its messages."""
        return self._ask("metadata.set_schedule", calls.SetScheduleCall(change))

    def schedules(self, name: str | None = None, due: bool = False) -> Plan[SchedulesFound]:
        """Read schedules."""
        return self._ask("metadata.schedules", calls.SchedulesCall(name, due))

    def set_pipeline(self, name: str, version: int | None, after: StoredPipeline | None) -> Plan[bool]:
        """Store or remove a pipeline."""
        return self._ask("metadata.set_pipeline", calls.SetPipelineCall(name, version, after))

    def pipelines(self, name: str | None = None) -> Plan[list[StoredPipeline]]:
        """Read pipelines."""
        return self._ask("metadata.pipelines", calls.NamedCall(name))

    def note_consumer(self, name: str, queues: Sequence[str], kinds: Sequence[str], version: str) -> Plan[None]:
        """Record that a consumer is active."""
        call = calls.NoteConsumerCall(name, [*queues], [*kinds], version)
        return self._ask("metadata.note_consumer", call)

    def consumers(self) -> Plan[list[Consumer]]:
        """Read the known consumers."""
        return self._ask("metadata.consumers", calls.NoArguments())


class HttpCounters(_Part):
    """The counts of processes; see `duerow.store.CounterStore`."""

    def note_counts(self, process: str, rows: Sequence[Counted]) -> Plan[None]:
        """Store the counts of a process."""
        return self._ask("counters.note_counts", calls.NoteCountsCall(process, [*rows]))

    def read(self, queue: str) -> Plan[Counters]:
        """Read the counts."""
        return self._ask("counters.read", calls.QueueCall(queue))


class HttpSchema(_Part):
    """The server's tables; see `duerow.store.SchemaStore`.

    Args:
        requests: sends requests to the server.
        learn: called with the server's description of its store.
    """

    def __init__(self, requests: Requests, learn: Callable[[About], None]) -> None:
        super().__init__(requests)
        self._learn = learn

    def check(self) -> Plan[None]:
        """Ask the server for its store's capabilities; refuse a server with an incompatible protocol."""
        about: About = yield from self._ask("schema.check", calls.NoArguments())
        if about.protocol != PROTOCOL:
            older = "server" if about.protocol < PROTOCOL else "client"
            raise ConfigurationError(
                f"{self._requests.name} runs duerow {about.version}, which is incompatible with this version over "
                f"HTTP: upgrade the {older}"
            )
        self._requests.largest = about.max_body_bytes
        self._learn(about)

    def migrate(self) -> Plan[list[str]]:
        """Apply no migrations: the server checked its tables when it opened its database."""
        yield from self.check()
        return []

    def migration_sql(self) -> NoReturn:
        """Refuse: tables are created with the database's own URL."""
        raise NotSupported("over HTTP there are no tables to create: run this with the URL of the database itself")

    def roles_sql(self, names: Mapping[str, str]) -> NoReturn:
        """Refuse: the API has its own roles, which belong to its accounts."""
        raise NotSupported(
            "over HTTP nobody has rights in the database: accounts have roles, which `duerow dashboard user` sets"
        )


def _page(query: Query, found: Sequence[Record]) -> Query:
    """Return the next page to read; in the order of delivery, a page with everything that is left."""
    left = query.limit - len(found)
    if query.by_id:
        after = found[-1].id if found else query.after_id
        return replace(query, after_id=after, limit=min(left, PIECE))
    if query.order is not None:
        order = query.order
        place = (getattr(found[-1], order.field), found[-1].id) if found else order.after
        return replace(query, order=replace(order, after=place), limit=min(left, PIECE))
    return query


def _refuse_function(end: End) -> None:
    """Raise NotSupported if a turn needs a function call in the database's transaction."""
    if isinstance(end, Joined):
        if end.complete is not None:
            raise NotSupported(
                "complete= calls your function inside the database's transaction, which is not possible over HTTP; "
                "give count=, or connect to the database itself"
            )
        _refuse_function(end.full)
        if end.late is not None:
            _refuse_function(end.late)
