"""The in-memory store: the reference that every other store is compared with."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any, TypeVar

from msgspec.structs import replace

from duerow.conditions.model import Condition, Path
from duerow.errors import BatchRefused, DuerowError, LeaseLost, NotSupported
from duerow.message import OnDuplicate, Pushed
from duerow.plan import BEGIN, Plan
from duerow.reservation import Receipt
from duerow.store import (
    Arrival,
    Capabilities,
    Change,
    Closed,
    Committed,
    Consumer,
    Counted,
    Counters,
    Entry,
    HistoryQuery,
    HistoryRow,
    Indexed,
    Indexing,
    Inspection,
    Joined,
    Lease,
    MessageHeader,
    Published,
    Query,
    QueueSettings,
    QueueStats,
    Reception,
    Record,
    Refused,
    Removal,
    Reserved,
    Retention,
    Scan,
    ScheduleChange,
    SchedulesFound,
    StoredPipeline,
    Tally,
    Turn,
)
from duerow.stores.memory import batches, counters, pipelines, schedules, steps
from duerow.stores.memory import history as past
from duerow.stores.memory import receive as receiving
from duerow.stores.memory.settle import end_turn, gather, in_order_of_effect, require_lone_turns
from duerow.stores.memory.state import State

T = TypeVar("T")


class MemoryStore:
    """Messages kept in this process: nothing to install, nothing that lasts.

    Args:
        transactions: whether several messages can change together; without it each turn of a settle takes effect by
            itself, and a turn that concerns another message as well is refused with NotSupported.
    """

    def __init__(self, transactions: bool = True) -> None:
        self.capabilities = Capabilities(
            transactions=transactions, within=False, processes=False, hosts=False, receives=transactions
        )

    def push(
        self,
        entries: Sequence[Entry],
        on_duplicate: OnDuplicate,
        remembered: bool = False,
        once: str | None = None,
    ) -> Plan[list[Pushed]]:
        """Add messages; see `Store.push`."""
        if once is not None:
            asked: dict[str, Any] = {"on_duplicate": on_duplicate, "remembered": remembered, "once": once}
            return _alone(partial(batches.push_once, entries=entries, **asked))
        return _alone(partial(steps.push_new, entries=entries, on_duplicate=on_duplicate, remembered=remembered))

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
    ) -> Plan[Reserved]:
        """Lend due messages, oldest first; see `Store.reserve`. Nothing is ever refused here."""
        terms: dict[str, Any] = {"lease": lease, "attempts": attempts, "consumer": consumer, "dead_letter": dead_letter}
        return _alone(partial(steps.reserve, queue=queue, limit=limit, keep=keep, kinds=kinds, **terms))

    def lend(
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
    ) -> Plan[Lease]:
        """Lend due messages without reading them; see `Store.lend`."""
        terms: dict[str, Any] = {"lease": lease, "attempts": attempts, "consumer": consumer, "dead_letter": dead_letter}
        return _alone(partial(batches.lend, queue=queue, limit=limit, keep=keep, kinds=kinds, **terms))

    def leased_range(self, queue: str, consumer: str, first: int, last: int, limit: int) -> Plan[list[Record]]:
        """Read what a claim holds; see `Store.leased_range`."""
        ids: dict[str, Any] = {"first": first, "last": last, "limit": limit}
        return _alone(partial(batches.leased_range, queue=queue, consumer=consumer, **ids))

    def message_headers(self, queue: str, receipts: Sequence[Receipt]) -> Plan[list[MessageHeader]]:
        """Read what messages are but for their payloads; see `Store.message_headers`."""
        return _alone(partial(batches.message_headers, queue=queue, receipts=receipts))

    def stage(self, batch: str, part: str, entries: Sequence[Entry]) -> Plan[None]:
        """Keep entries that nobody sees; see `Store.stage`."""
        return _alone(partial(batches.stage, batch=batch, part=part, entries=entries))

    def publish(
        self,
        batch: str,
        parts: Mapping[str, int],
        turns: Sequence[Turn] = (),
        on_duplicate: OnDuplicate = "ignore",
        once: str | None = None,
        keep: Retention | None = None,
    ) -> Plan[Published]:
        """End turns, and push what a batch staged; see `Store.publish`."""
        yield BEGIN
        if once is not None and not (yield partial(batches.note, name=once)):
            return Published(True, 0)
        entries: list[Entry] = yield partial(batches.chosen, batch=batch, parts=parts)
        refused = yield from self.settle(turns, keep)
        if refused:
            raise BatchRefused(batch, refused)
        yield partial(steps.push, entries=entries, on_duplicate=on_duplicate)
        yield partial(batches.discard, batch=batch)
        return Published(False, len(entries))

    def discard(self, batch: str) -> Plan[None]:
        """Forget what a batch staged; see `Store.discard`."""
        return _alone(partial(batches.discard, batch=batch))

    def receive(
        self, arrivals: Sequence[Arrival], history: timedelta = timedelta(0), final: bool = False
    ) -> Plan[list[Reception]]:
        """Take in what comes from another database; see `Store.receive`."""
        if not self.capabilities.receives:
            raise NotSupported(
                "what comes from another database arrives in one transaction, and this in-memory store was opened with "
                "transactions=off; open it without that switch"
            )
        return _alone(partial(receiving.receive, arrivals=arrivals, history=history, final=final))

    def extend(self, receipts: Sequence[Receipt], lease: timedelta) -> Plan[dict[Receipt, datetime]]:
        """Let leases run until now + lease; see `Store.extend`."""
        return _alone(partial(steps.extend, receipts=receipts, lease=lease))

    def settle(self, turns: Sequence[Turn], keep: Retention | None = None) -> Plan[list[Refused]]:
        """End turns and then push what follows from them; the refused ones are returned in the order given.

        A receipt that is given twice ends one turn, the first to take effect; the other is refused.
        """
        if self.capabilities.transactions:
            yield BEGIN
        else:
            require_lone_turns(turns)
        refused: dict[int, Refused] = {}
        used: set[Receipt] = set()
        left: list[tuple[int, Turn]] = []
        for place, turn in in_order_of_effect(enumerate(turns)):
            if turn.receipt in used:
                refused[place] = Refused(turn.receipt, LeaseLost(turn.receipt.id))
            elif isinstance(turn.end, Joined | Closed):
                outcome = yield partial(gather, turn=turn)
                if isinstance(outcome, DuerowError):
                    refused[place] = Refused(turn.receipt, outcome)
                elif outcome is not None:
                    left.append((place, replace(turn, end=outcome)))
            else:
                left.append((place, turn))
            used.add(turn.receipt)
        for place, turn in in_order_of_effect(left):
            error = yield partial(end_turn, turn=turn, keep=keep)
            if error is not None:
                refused[place] = Refused(turn.receipt, error)
        ended = [turn.end for place, turn in enumerate(turns) if place not in refused]
        following = [entry for end in ended if isinstance(end, Committed) for entry in end.then]
        if following:
            yield partial(steps.push, entries=following, on_duplicate="ignore")
        return [refused[place] for place in sorted(refused)]

    def pop(
        self,
        queue: str,
        limit: int,
        keep: Retention | None = None,
        kinds: Collection[str] | None = None,
        apart: bool = False,
    ) -> Plan[list[Record]]:
        """Take due messages out of the queue, oldest first; see `Store.pop`."""
        return _alone(partial(steps.pop, queue=queue, limit=limit, keep=keep, kinds=kinds))

    def remove(
        self, queue: str, ids: Sequence[int], keys: Sequence[str], even_if_leased: bool, keep: Retention | None = None
    ) -> Plan[Removal]:
        """Take messages out of the queue by id or key; see `Store.remove`."""
        named: dict[str, Any] = {"ids": ids, "keys": keys, "even_if_leased": even_if_leased}
        return _alone(partial(steps.remove, queue=queue, keep=keep, **named))

    def change(self, queue: str, changes: Sequence[Change], even_if_leased: bool, dry_run: bool) -> Plan[list[Refused]]:
        """Change messages; see `Store.change`."""
        return _alone(
            partial(steps.alter, queue=queue, changes=changes, even_if_leased=even_if_leased, dry_run=dry_run)
        )

    def set_schedule(self, change: ScheduleChange) -> Plan[bool]:
        """Change a schedule and push what it pushes, in one step; see `Store.set_schedule`."""
        return _alone(partial(schedules.change, change=change))

    def set_pipeline(self, name: str, version: int | None, after: StoredPipeline | None) -> Plan[bool]:
        """Keep a pipeline if it still is what it was when it was read; see `Store.set_pipeline`."""
        return _alone(partial(pipelines.change, name=name, version=version, after=after))

    def pipelines(self, name: str | None = None) -> Plan[list[StoredPipeline]]:
        """Read pipelines; see `Store.pipelines`."""
        return _alone(partial(pipelines.find, name=name))

    def find(self, query: Query) -> Plan[list[Record]]:
        """Read messages without taking them; see `Store.find`."""
        return _alone(partial(steps.find, query=query))

    def put_settings(
        self, queue: str, paused: bool | None = None, draining: bool | None = None, definition: str | None = None
    ) -> Plan[None]:
        """Note what is said of a queue; see `Store.put_settings`."""
        return _alone(partial(steps.put_settings, queue=queue, paused=paused, draining=draining, definition=definition))

    def index(self, queue: str, fields: Sequence[Indexed], dry_run: bool) -> Plan[Indexing]:
        """Make nothing: a search looks at every message."""
        return _alone(_no_indexes)

    def note_consumer(self, name: str, queues: Sequence[str], kinds: Sequence[str], version: str) -> Plan[None]:
        """Note that a consumer is there; see `Store.note_consumer`."""
        return _alone(partial(steps.note_consumer, name=name, queues=queues, kinds=kinds, version=version))

    def note_counts(self, process: str, rows: Sequence[Counted]) -> Plan[None]:
        """Keep what a process counted; see `Store.note_counts`."""
        return _alone(partial(counters.note, process=process, rows=rows))

    def purge(self, queue: str, limit: int, last: int) -> Plan[int]:
        """Take messages away, whatever they are; see `Store.purge`."""
        return _alone(partial(steps.purge, queue=queue, limit=limit, last=last))

    def prune(self, limit: int) -> Plan[int]:
        """Take away what was kept long enough; see `Store.prune`."""

        def both(state: State, now: datetime) -> int:
            return past.prune(state, now, limit) + batches.prune(state, now, limit)

        return _alone(both)

    def history(self, query: HistoryQuery) -> Plan[list[HistoryRow]]:
        """Read turns that are over; see `Store.history`."""
        return _alone(partial(past.find, query=query))

    def scan(self, query: Scan) -> Plan[list[Record] | list[HistoryRow]]:
        """Read messages or turns of many queues; see `Store.scan`."""
        return _alone(partial(past.scan if query.past else steps.scan, query=query))

    def queue_stats(self, queue: str, cap: int | None) -> Plan[QueueStats]:
        """Tell how a queue stands; see `Store.queue_stats`."""
        return _alone(partial(steps.queue_stats, queue=queue, cap=cap))

    def counters(self, queue: str) -> Plan[Counters]:
        """Read what was counted; see `Store.counters`."""
        return _alone(partial(counters.read, queue=queue))

    def inspect(self, queue: str, id: int | None, key: str | None) -> Plan[Inspection | None]:
        """Read a message and what stands between it and a consumer; see `Store.inspect`."""
        return _alone(partial(steps.inspect, queue=queue, id=id, key=key))

    def peek(self, queue: str, limit: int) -> Plan[list[Record]]:
        """Read due messages without taking them; see `Store.peek`."""
        return _alone(partial(steps.peek, queue=queue, limit=limit))

    def count(self, queue: str) -> Plan[dict[str, int]]:
        """Count the queue's messages by status; see `Store.count`."""
        return _alone(partial(steps.count, queue=queue))

    def tally(
        self,
        queue: str,
        where: Condition | None,
        by: Path | None,
        limit: int | None,
        indexed: tuple[Indexed, ...] = (),
    ) -> Plan[Tally]:
        """Count messages by what is at a path; see `Store.tally`."""
        return _alone(partial(steps.tally, queue=queue, where=where, by=by, limit=limit))

    def settings(self, queue: str | None = None) -> Plan[list[QueueSettings]]:
        """Tell what is said of queues; see `Store.settings`."""
        return _alone(partial(steps.settings, queue=queue))

    def queues(self, past: bool = False) -> Plan[list[str]]:
        """List the queues that have messages, or something else; see `Store.queues`."""
        return _alone(partial(steps.queues, past=past))

    def consumers(self) -> Plan[list[Consumer]]:
        """Read the consumers that are noted; see `Store.consumers`."""
        return _alone(steps.consumers)

    def next_due(
        self, queues: Sequence[str], until: timedelta, kinds: Mapping[str, Collection[str]] | None = None
    ) -> Plan[timedelta | None]:
        """Return how long until the next message is due; listeners hear of every push, so nothing need be noted."""
        return _alone(partial(steps.next_due, queues=queues, kinds=kinds or {}))

    def schedules(self, name: str | None = None, due: bool = False) -> Plan[SchedulesFound]:
        """Read schedules; see `Store.schedules`."""
        return _alone(partial(schedules.find, name=name, due=due))

    def check(self) -> Plan[None]:
        """Find nothing amiss: there are no tables."""
        return _alone(_nothing)

    def migrate(self) -> Plan[list[str]]:
        """Make no migrations: there are no tables."""
        return _alone(_no_migrations)

    def migration_sql(self) -> str:
        """Return a comment that says that there is nothing to run."""
        return "-- The in-memory store has no tables: there is nothing to run.\n"

    def roles_sql(self, names: Mapping[str, str]) -> str:
        """Refuse: nobody connects to it."""
        raise NotSupported("the in-memory store has no roles: it belongs to the process that made it")


def _alone(step: Callable[[State, datetime], T]) -> Plan[T]:
    """A plan of one step, which happens as a whole or not at all."""
    answer: T = yield step
    return answer


def _nothing(state: State, now: datetime) -> None:
    return None


def _no_indexes(state: State, now: datetime) -> Indexing:
    return Indexing()


def _no_migrations(state: State, now: datetime) -> list[str]:
    return []
