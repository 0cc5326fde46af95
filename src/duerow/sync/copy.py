# Generated from ../aio/copy.py by tools/generate_sync.py; edit that file instead.
"""Copy a queue with its messages, dead letters and history from one database to another."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from functools import partial

from duerow.errors import ConfigurationError, MessageLeased, QueueDraining, UnknownName
from duerow.message import LIVE
from duerow.payload.encoding import Payloads
from duerow.phrases import Argument, Hint
from duerow.plan import BEGIN, Plan
from duerow.queue.copy import (
    BATCH,
    TURNS,
    Asked,
    Copied,
    CopyCount,
    Route,
    beginning_of,
    check_asked,
    check_settings,
    definition_of,
    give_back,
    gone,
    new_name,
    routes_of,
    set_out,
    under_way,
    waves,
)
from duerow.queue.definition import check_indexed, encoded, indexed_again
from duerow.store import (
    ALL_IDS,
    Arrival,
    Change,
    HistoryRow,
    Indexed,
    Query,
    Reception,
    Record,
    Refused,
    Scan,
)
from duerow.sync.copy_checks import CopyChecks
from duerow.sync.database import Database
from duerow.sync.directory import nearest


def copy(
    source: Database,
    target: Database,
    queue: str,
    *,
    move: bool = False,
    to: str | None = None,
    history: timedelta | None = None,
    dead_letters: bool = True,
    keep_settings: bool = False,
    beside: bool = False,
    name: str = "copy",
) -> Copied:
    """Copy or move a queue into another database: its messages, dead letters and history.

    A message keeps its key, kind, stored payload, headers, group, priority, status, attempts, due time, first due
    time, the times when it was pushed and last tried, and its error. It gets a new id; new ids follow the order of the
    old ones. If the call is interrupted at any point, repeat it within 30 days to continue.

    A copy leaves the source unchanged, and pauses the target's queue when it begins, so that consumers do not work on
    both until you resume it. With `move` each message leaves the source, and two consumers can never have the same
    message; consumers of the source and the target may keep working.

    Args:
        source: the database that contains the queue.
        target: the database to copy it to; both must be sync, or both async.
        queue: its name.
        move: whether messages leave the source. The queue's history also stays in the source.
        to: its name in the target; default: the same.
        history: how long the target keeps turns after they end; zero: turns are not copied. Default: as in the queue's
            definition.
        dead_letters: whether to copy the queue's dead letters too, from the queue that its definition names into a
            queue of the same name.
        keep_settings: whether the target's definition of the queue may differ. If the target has none, it gets the
            source's.
        beside: whether the target's queue may already have messages that do not come from this copy.
        name: the name of the copy; to copy the same messages again into an emptied target, choose another name.

    Returns:
        Counts of what arrived and what was left behind; false if anything was left behind.

    Raises:
        ConfigurationError: both are the same database, the source has no such queue, the target's definition differs,
            the target's queue has messages, or it is not known how long to keep the history; a move of the queue was
            interrupted and this is a copy; messages are on their way to another database; or messages in groups are to
            be moved while the source's queue is not paused. Nothing was changed.
        NotSupported: the target's store cannot receive messages. Nothing was changed.
        QueueDraining: the target's queue accepts no new messages. Nothing was changed.
        InvalidMessage: a name is invalid, or `history` is out of bounds. Nothing was changed.
    """
    work = _CopyRun(source, target)
    work.prepare(queue, to, move, history, dead_letters, keep_settings, beside, name)
    return work.run()


class _CopyRun(CopyChecks):
    """One copy in progress."""

    # Before anything changes.

    def prepare(
        self,
        queue: str,
        to: str | None,
        move: bool,
        history: timedelta | None,
        dead_letters: bool,
        keep_settings: bool,
        beside: bool,
        name: str,
    ) -> None:
        """Check the request, and record in the target that the copy has begun."""
        own, there, kept = check_asked(queue, to, name, history)
        ours = self.source.run(self.source.store.metadata.settings)
        theirs = self.target.run(self.target.store.metadata.settings)
        routes = routes_of(own, there, definition_of(ours, own) if dead_letters else None)
        keys = self.source.encryption or self.target.encryption
        self.asked = Asked(routes=routes, move=move, name=name, payloads=Payloads(sealing=keys))
        for route in routes:
            if route.renames and keys is None:
                self._require_clear(route)
            if any(one.draining for one in theirs if one.queue == route.to):
                raise QueueDraining(route.to)
            wanted, found = definition_of(ours, route.queue), definition_of(theirs, route.to)
            check_settings(route, wanted, found, keep_settings)
            if wanted is not None and found in (None, wanted):
                self.asked.definitions[route.to] = found = wanted
            self._set_history(route, found.history if kept is None and found is not None else kept)
            paused = any(one.paused for one in ours if one.queue == route.queue)
            self._require_apart(route)
            if move:
                self._require_same_target(route)
                self._require_order(route, paused)
            else:
                self._require_whole(route)
        unlike = None if self.source.knows_queue(own) else self.source.known_queues()
        self.target.run(lambda: self._begin(beside, unlike))
        self._have_indexes()

    def _set_history(self, route: Route, kept: timedelta | None) -> None:
        if kept is None and self._some(route, True):
            raise ConfigurationError(
                f"queue {route.queue!r} has a history, but its definition does not say how long to keep it; pass ",
                Argument("history"),
                ", ",
                Hint("or timedelta(0) to leave it out", "0 leaves it out"),
            )
        if kept:
            self.asked.history[route.to] = kept

    def _begin(self, beside: bool, unlike: list[str] | None) -> Plan[None]:
        """Record that the copy has begun, in one transaction with the check that the target is empty.

        Args:
            beside: whether the target may have messages.
            unlike: the queues of the source, if this one is not among them; ignored if the copy began earlier.
        """
        store, asked = self.target.store, self.asked
        yield BEGIN
        for route in asked.routes:
            there = Route(route.to, route.to, route.letters_of and (route.letters_of[1], route.letters_of[1]))
            query = Scan(queues=(route.to,), where=there.which("message"), limit=1)
            found = yield from store.bulk.scan(query)
            beginning = asked.beginning(self.source.connections.place, route)
            asked.begun.add(beginning)
            if (yield from store.bulk.receive([Arrival(beginning, None)])) == ["before"]:
                continue
            if unlike is not None:
                raise UnknownName("queue", route.queue, nearest(route.queue, unlike), "the source")
            if found and not beside:
                raise ConfigurationError(
                    f"queue {route.to!r} of the target has messages from elsewhere; pass ",
                    Argument("beside", True),
                    " to allow them, or choose another name with ",
                    Argument("to"),
                )
            if not asked.move and route.letters_of is None:
                yield from store.metadata.put_settings(route.to, paused=True)
            if route.to in asked.definitions:
                yield from store.metadata.put_settings(route.to, definition=encoded(asked.definitions[route.to]))

    def _have_indexes(self) -> None:
        for queue, definition in self.asked.definitions.items():
            if definition.indexed:
                self._index(queue, check_indexed(indexed_again(definition.indexed)))

    def _index(self, queue: str, fields: tuple[Indexed, ...]) -> None:
        self.target.run(lambda: self.target.store.metadata.index(queue, fields, False))

    # The work.

    def run(self) -> Copied:
        """Copy everything; return the report."""
        count = CopyCount(self.asked.move)
        for route in self.asked.routes:
            if route.to in self.asked.history:
                self._copy_turns(route, count)
            count.add(self._copy_messages(route))
        return count.report()

    def _copy_messages(self, route: Route) -> CopyCount:
        """Copy all messages; for a move, repeat the pass until no more can move."""
        count = CopyCount(self.asked.move)
        while True:
            arrived = count.arrivals
            count.look_again()
            self._pass(route, count)
            if not self.asked.move or count.arrivals == arrived:
                return count

    def _pass(self, route: Route, count: CopyCount) -> None:
        """Go through the queue once, in order of id."""
        after, held = 0, set[str]()
        while True:
            query = Scan(queues=(route.queue,), where=route.which("message"), after=(after, ALL_IDS), limit=BATCH)
            records: list[Record] = self._scan(query)
            if not records:
                return
            after = records[-1].id
            if self.asked.move:
                records = self._take(route, records, held, count)
            if records:
                self._send(route, records, held, count)

    def _send(self, route: Route, records: list[Record], held: set[str], count: CopyCount) -> None:
        """Send messages with their turns to the target; for a move, remove from the source those that have arrived."""
        turns = self._turns_of(route, records)
        arrivals = [self.asked.arrival(record, route) for record in records]
        answers = self._receive(route, arrivals + [self.asked.turn(past, route) for past in turns])
        count.turns += answers[len(records) :].count("arrived")
        count.turns_before += answers[len(records) :].count("before")
        there: list[Record] = []
        kept: list[Record] = []
        for record, answer in zip(records, answers, strict=False):
            if answer == "refused":
                kept.append(record)
                count.taken.append(record.id)
                continue
            there.append(record)
            if answer == "arrived":
                count.arrived(record, route)
                count.leased += not self.asked.move and record.leased_by is not None
            else:
                count.came_before(record)
        if self.asked.move:
            self._forget(there, count)
            self._give_back(route, kept, held)

    def _receive(self, route: Route, arrivals: list[Arrival]) -> list[Reception]:
        kept = self.asked.history.get(route.to, timedelta(0))
        return self.target.run(
            lambda: self.target.store.bulk.receive(arrivals, kept, self.asked.move), None, len(arrivals)
        )

    # Leaving the source.

    def _take(self, route: Route, records: list[Record], held: set[str], count: CopyCount) -> list[Record]:
        """Stop the messages to be moved, so that no consumer gets them; return the stopped ones.

        Messages behind one in the same group that cannot move stay here too, to keep the group's order.
        """
        going = [record for record in records if under_way(record) is not None]
        elsewhere = {record.id for record in going if beginning_of(record) not in self.asked.begun}
        count.changed += len(elsewhere)  # another move to a different database is in progress
        fresh = [record for record in records if under_way(record) is None]
        free = self._without_leased(route, self._without_taken(route, fresh, held, count), held, count)
        for wave in waves(free):
            ready = [record for record in wave if self._may_go(route, record, held)]
            count.behind += len(wave) - len(ready)
            self._stop(route, ready, held, count)
        ids = tuple(record.id for record in [*going, *free] if record.id not in elsewhere)
        if not ids:
            return []
        query = Query(route.queue, ids=ids, by_id=True, limit=len(ids))
        found = self.source.run(lambda: self.source.store.messages.find(query))
        stopped = [record for record in found if under_way(record) is not None]
        count.leased += sum(record.leased_by is not None for record in stopped)
        return [record for record in stopped if record.leased_by is None]

    def _may_go(self, route: Route, record: Record, held: set[str]) -> bool:
        """Return whether a message can move now without breaking the order of its group."""
        return record.group is None or (route.queue in self.asked.paused and record.group not in held)

    def _without_taken(self, route: Route, records: list[Record], held: set[str], count: CopyCount) -> list[Record]:
        """Leave out messages whose key is held by a live message of the target."""
        keys = tuple(record.key for record in records if record.key is not None and record.status in LIVE)
        if not keys:
            return records
        query = Query(route.to, keys=keys, statuses=LIVE, by_id=True, limit=len(keys))
        taken = {record.key for record in self.target.run(lambda: self.target.store.messages.find(query))}
        left = [record for record in records if record.key in taken and record.status in LIVE]
        count.taken += [record.id for record in left]
        held |= {record.group for record in left if record.group is not None}
        return [record for record in records if record not in left]

    def _without_leased(self, route: Route, records: list[Record], held: set[str], count: CopyCount) -> list[Record]:
        """Leave out messages that a consumer is working on; an expired lease does not count."""
        changes = [set_out(record, "") for record in records if record.leased_by is not None]
        answers = self._change(route, changes, dry_run=True)
        refused = {one.receipt.id for one in answers}
        leased = sum(isinstance(one.error, MessageLeased) for one in answers)
        count.leased, count.changed = count.leased + leased, count.changed + len(answers) - leased
        held |= {record.group for record in records if record.id in refused and record.group is not None}
        return [record for record in records if record.id not in refused]

    def _stop(self, route: Route, records: list[Record], held: set[str], count: CopyCount) -> None:
        """Stop messages under unique names; count those that were taken or changed in the meantime."""
        by_id = {record.id: record for record in records}
        name = partial(new_name, self.asked.beginning(self.source.connections.place, route))
        changes = [set_out(record, name()) for record in records]
        for one in self._change(route, changes):
            if (group := by_id[one.receipt.id].group) is not None:
                held.add(group)
            count.changed += 1

    def _give_back(self, route: Route, records: list[Record], held: set[str]) -> None:
        """Restore messages that the target refused; those behind them in their groups wait."""
        held |= {record.group for record in records if record.group is not None}
        self._change(route, [give_back(record) for record in records])

    def _change(self, route: Route, changes: list[Change], dry_run: bool = False) -> list[Refused]:
        if not changes:
            return []
        store = self.source.store
        return self.source.run(
            lambda: store.operations.change(route.queue, changes, False, dry_run), None, len(changes)
        )

    def _forget(self, records: list[Record], count: CopyCount) -> None:
        """Remove messages that have arrived, unless they were changed: a later pass finds those again."""
        turns = [gone(record) for record in records]
        if turns:
            count.changed += len(self.source.run(lambda: self.source.store.messages.settle(turns), None, len(turns)))

    # History.

    def _turns_of(self, route: Route, records: list[Record]) -> list[HistoryRow]:
        """Return the turns of messages that are still in the queue."""
        if route.to not in self.asked.history:
            return []
        ids = ", ".join(str(record.id) for record in records)
        first, last = records[0].id, records[-1].id
        return [past for page in self._turns(route, f"id in ({ids})", (first - 1, ALL_IDS), last) for past in page]

    def _copy_turns(self, route: Route, count: CopyCount) -> None:
        """Copy the turns of messages that are no longer in the queue, all turns of a message together."""
        waiting: list[HistoryRow] = []
        for page in self._turns(route, None, (0, 0), ALL_IDS):
            waiting += page
            whole = [past for past in waiting if past.id != waiting[-1].id]
            waiting = waiting[len(whole) :]
            self._send_turns(route, whole, count)
        self._send_turns(route, waiting, count)

    def _send_turns(self, route: Route, turns: list[HistoryRow], count: CopyCount) -> None:
        if not turns:
            return
        ids = tuple({past.id for past in turns})
        query = Query(route.queue, ids=ids, by_id=True, limit=len(ids))
        there = {record.id for record in self.source.run(lambda: self.source.store.messages.find(query))}
        arrivals = [self.asked.turn(past, route) for past in turns if past.id not in there]
        if arrivals:
            answers = self._receive(route, arrivals)
            count.turns += answers.count("arrived")
            count.turns_before += answers.count("before")

    def _turns(self, route: Route, more: str | None, after: tuple[int, int], last: int) -> Iterator[list[HistoryRow]]:
        """Yield turns in order of id and token, page by page."""
        where = route.which("turn", more)
        while True:
            query = Scan(turns=True, queues=(route.queue,), where=where, after=after, last=last, limit=TURNS)
            page: list[HistoryRow] = self._scan(query)
            if page:
                yield page
            if len(page) < TURNS:
                return
            after = (page[-1].id, page[-1].token)
