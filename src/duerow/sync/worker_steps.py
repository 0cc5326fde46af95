# Generated from ../aio/worker_steps.py by tools/generate_sync.py; edit that file instead.
"""Executes the steps of a worker for its queue and database: to claim, settle, extend and maintain."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final

from duerow.errors import DuerowError, LeaseLost, MessageGone, StoreUnavailable
from duerow.message import Draft
from duerow.queue.beside import PROGRESS, own_key
from duerow.queue.limits import RunLimits
from duerow.queue.periods import CHARTS
from duerow.reservation import BareReservation, Receipt
from duerow.store import Query, Refused
from duerow.store.consumer_id import consumer_name, new_claim, own_version
from duerow.sync import offload
from duerow.sync.executor import Executor
from duerow.sync.own_messages import OwnMessages
from duerow.sync.periods import keep_periods
from duerow.sync.queue import Queue
from duerow.sync.reservation import Reservation
from duerow.sync.several_queues import SeveralQueues
from duerow.worker.attempt import Attempt
from duerow.worker.cancellation import AnswerQuestions, FindLost
from duerow.worker.fetcher import NextDue, Reserve
from duerow.worker.lease_keeper import Extend, WriteProgress
from duerow.worker.maintenance import KeepPeriods, LookForUnknown, Maintain, Present, Prune, ReadLimits, TellDifferences
from duerow.worker.progress import draft
from duerow.worker.run import Run
from duerow.worker.settler import Settle, SettleAndReserve, WriteCounts
from duerow.worker.stack import KEPT, answer, payload_of, places

LOG: Final = logging.getLogger("duerow.worker")


class WorkerSteps:
    """The steps of a worker's plans that call its queue.

    Args:
        run: the run that the plans belong to.
        queue: the queue that the worker works on.
    """

    def __init__(self, run: Run, queue: Queue | SeveralQueues) -> None:
        self._run, self._queue, self._database = run, queue, queue.database
        self._kept: dict[str, datetime] = {}
        self._lacking: set[str] = set()
        self._mute = queue.locked_while_handled  # there is no queue for questions about rows

    @property
    def actions(self) -> dict[type, Callable[[Any], Any]]:
        """The function that executes each step."""
        queue, database = self._queue, self._database
        return {
            Reserve: self._reserve,
            NextDue: self._next_due,
            Settle: self._settle,
            SettleAndReserve: self._settle_and_reserve,
            Extend: self._extend,
            FindLost: self._find_lost,
            WriteProgress: self._write_progress,
            AnswerQuestions: self._answer_questions,
            WriteCounts: lambda step: database.write_counts(),
            Maintain: lambda step: database.tick(),
            Prune: lambda step: database.prune(batches=1),
            Present: self._present,
            ReadLimits: self._read_limits,
            KeepPeriods: self._keep_periods,
            TellDifferences: lambda step: queue.tell_differences(),
            LookForUnknown: lambda step: queue.look_for_unknown(),
        }

    def _reserve(self, step: Reserve) -> list[Reservation]:
        self._database.check_may_consume()
        return self._queue.reserve_many(step.limit, consumer=new_claim(self._run.options.name), exact=step.exact)

    def _next_due(self, step: NextDue) -> timedelta | None:
        database: Executor = self._database
        names = self._run.queues
        next_due = database.store.messages.next_due
        return database.run(lambda: next_due(names, step.sleep, self._queue.only, step.exact))

    def _settle(self, step: Settle) -> list[Refused]:
        return self._queue.settle(step.pairs)

    def _settle_and_reserve(self, step: SettleAndReserve) -> tuple[list[Refused], list[Reservation] | None]:
        queue: Any = self._queue  # a single queue: see Worker.run
        claim = new_claim(self._run.options.name)
        answer: tuple[list[Refused], list[Reservation] | None]
        answer = queue._settle_and_claim(step.pairs, 1, queue.lease, claim)
        return answer

    def _extend(self, step: Extend) -> list[Refused]:
        refused = self._queue.extend_many(step.reservations)
        if not refused:
            return refused
        lost = {one.receipt for one in refused}
        there = self._tokens([one for one in step.reservations if one.receipt in lost])
        return [one if one.receipt.id in there else _gone(one.receipt) for one in refused]

    def _find_lost(self, step: FindLost) -> list[Refused]:
        there = self._tokens(step.reservations)
        receipts = [one.receipt for one in step.reservations]
        gone = [_gone(receipt) for receipt in receipts if receipt.id not in there]
        changed = [one for one in receipts if there.get(one.id, one.token) != one.token]
        return [*gone, *(Refused(receipt, LeaseLost(receipt.id)) for receipt in changed)]

    def _tokens(self, reservations: list[BareReservation]) -> dict[int, int]:
        """Return the tokens, by id, of the messages that are still in their queues."""
        ids: dict[str, list[int]] = {}
        for one in reservations:
            ids.setdefault(one.message.queue, []).append(one.receipt.id)
        there: dict[int, int] = {}
        for queue, wanted in ids.items():
            query = Query(queue, ids=tuple(wanted), by_id=True, limit=len(wanted))
            found = self._database.run(partial(self._database.store.messages.find, query))
            there.update((record.id, record.token) for record in found)
        return there

    def _write_progress(self, step: WriteProgress) -> None:
        """Write the progress of handlers; if one queue's cannot be written, the others still are."""
        drafts: dict[str, list[Draft]] = {}
        for attempt in step.attempts:
            if attempt.said is not None:
                said = draft(attempt.message.id, attempt.said, self._database.host_time())
                drafts.setdefault(attempt.message.queue + PROGRESS, []).append(said)
        for name, several in drafts.items():
            try:
                Queue(self._database, name).push_many(several, on_duplicate="replace")
            except StoreUnavailable:
                raise
            except DuerowError as error:
                LOG.warning("the progress of %s cannot be written: %s", name.removesuffix(PROGRESS), error)
            else:
                self._database.expiring.add(name)

    def _answer_questions(self, step: AnswerQuestions) -> None:
        """Write the stacks that operators have asked for; if one cannot be written, the others still are."""
        for name, attempts in self._by_place(step.attempts).items():
            for key in self._asked(name, attempts):
                with self._reported(f"the stack of message {attempts[key].message.id} cannot be reported"):
                    self._answer(name, key, attempts[key])

    def _by_place(self, attempts: list[Attempt]) -> dict[str, dict[str, Attempt]]:
        """Return the attempts by the queue of the questions about them, and by their keys."""
        found: dict[str, dict[str, Attempt]] = {}
        for attempt in () if self._mute else attempts:
            for name in places([attempt.message.queue]):
                found.setdefault(name, {})[own_key(attempt.message.id)] = attempt
        return found

    def _asked(self, name: str, keys: Iterable[str]) -> list[str]:
        """Return the keys of the questions in a queue that have no answer yet."""
        found: dict[str, Any] = {}
        with self._reported(f"the questions in queue {name!r} cannot be read"):
            found = OwnMessages(self._database, name).read(keys)
        return [key for key, answer in found.items() if answer is None]

    def _answer(self, name: str, key: str, attempt: Attempt) -> None:
        stored, worker = OwnMessages(self._database, name), consumer_name(self._run.options.name)
        look, now = self._run.looks(attempt), self._database.host_time()
        found = offload.off(partial(answer, attempt, look, worker, now))
        if look is not None and self._run.looks(attempt) is not look:
            return  # it has just ended, so this may be the stack of another handler
        stored.push([stored.entry(key, payload_of(found), now + KEPT)], "replace")
        self._database.expiring.add(name)

    @contextmanager
    def _reported(self, what: str) -> Iterator[None]:
        """Log an error of the block unless the same was logged before; handlers are not affected by it."""
        try:
            yield
        except StoreUnavailable:
            raise
        except DuerowError as error:
            self._do_without(what, error)

    def _read_limits(self, step: ReadLimits) -> RunLimits:
        """Return the limits that operators have set; if they may not be read, the last known ones."""
        try:
            return self._queue.limits()
        except StoreUnavailable:
            raise
        except DuerowError as error:
            self._do_without("limits set by operators do not apply", error)
            return self._run.limits

    def _keep_periods(self, step: KeepPeriods) -> None:
        """Record the periods for the last day's charts and remove older ones; queues in users' tables have none."""
        try:
            if kept := keep_periods(self._database, self._run.queues, self._kept):
                Queue(self._database, CHARTS).pop_many(2 * kept)
        except StoreUnavailable:
            raise
        except DuerowError as error:
            self._do_without("the data for the last day's charts is not kept", error)

    def _do_without(self, what: str, error: DuerowError) -> None:
        """Log once what cannot be done; messages are still handled."""
        if what not in self._lacking:
            self._lacking.add(what)
            LOG.warning("%s: %s", what, error)

    def _present(self, step: Present) -> None:
        database, queue = self._database, self._queue
        name = consumer_name(self._run.options.name)
        kinds_of = queue.kinds_of if "metadata" in database.store.capabilities.parts else {}
        for names, kinds in kinds_of.items():
            its = name if len(queue.kinds_of) == 1 else f"{name}/{names[0]}"
            database.run(partial(database.store.metadata.note_consumer, its, names, kinds, own_version()))
        database.write_counts()


def _gone(receipt: Receipt) -> Refused:
    return Refused(receipt, MessageGone(receipt.id))
