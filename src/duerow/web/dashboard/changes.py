"""Changes of one message, or of many, which are counted first and then made in the background."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from typing import Any, Final

import msgspec

from duerow.aio.queue import Queue
from duerow.conditions.model import Condition, every
from duerow.queue.edits import Changed
from duerow.queue.history import Replayed, choice
from duerow.queue.replay_chunks import ReplayChunk, next_chunk, replay_chunk
from duerow.web.dashboard import forms
from duerow.web.dashboard.tabs import TABS, of_tab
from duerow.where import as_condition, field, parse

CHUNK: Final = 500
"""How many messages one step of a job changes."""

TRIED: Final = 1_000
"""The maximum number of messages that a dry run tries one by one; more are only counted."""

REDRIVEN: Final = 100
"""How many dead letters one step of a job brings back."""

PURGED: Final = 1_000
"""How many messages one step of a job purges."""

EVERYTHING: Final = field("id") >= -(1 << 62)
"""The condition for all messages of a queue, or all turns of its history."""


class AskedChange(msgspec.Struct, frozen=True):
    """A requested change.

    Attributes:
        verb: what to do; a name in `VERBS`.
        ids: the messages; empty: all that match the other fields.
        tab: the tab of the list.
        where: the condition, as text.
        values: the other values of the form.
    """

    verb: str
    ids: tuple[int, ...]
    tab: str
    where: str
    values: Mapping[str, str]

    def condition(self, now: datetime) -> Condition:
        """Return the condition for its messages.

        Raises:
            InvalidCondition: the text cannot be read.
        """
        if self.ids:
            return field("id").in_(self.ids)
        parts = [] if self.tab not in TABS or self.tab == "all" else [of_tab(self.tab, now)]
        if self.where:
            parts.append(parse(self.where))
        return every(*parts) if parts else EVERYTHING

    @property
    def letters(self) -> Condition | str | None:
        """Which dead letters a redrive brings back; None: all."""
        return field("id").in_(self.ids) if self.ids else self.where or None

    def turns_of(self, chunk: ReplayChunk) -> str:
        """Return the condition for the turns of a chunk of a replay, as text."""
        parts = [as_condition(self.where, "turn")] if self.where else []
        ended, id = field("finished_at"), field("id")
        parts += [ended >= chunk.first[0], ended <= chunk.last[0]]
        if chunk.first[0] == chunk.last[0]:  # turns that ended at the same time are ordered by their ids
            parts += [id >= chunk.first[1], id <= chunk.last[1]]
        return str(every(*parts))

    @property
    def about(self) -> str:
        """Its messages, in words."""
        if len(self.ids) == 1:
            return f"message {self.ids[0]}"
        if self.ids:
            return f"{len(self.ids):,} selected messages"
        what = "all messages" if self.tab in ("", "all") else f"all messages under “{TABS.get(self.tab, self.tab)}”"
        return f"{what} where {self.where}" if self.where else what

    @property
    def even_if_leased(self) -> bool:
        """Whether leased messages are changed too."""
        return bool(self.values.get("even_if_leased"))


class Verb(msgspec.Struct, frozen=True):
    """Something that can be done to messages.

    Attributes:
        title: the verb, as an imperative.
        done: the past participle.
        danger: whether it cannot be undone.
        apply: changes the messages that match a condition.
    """

    title: str
    done: str
    danger: bool
    apply: Callable[[Queue[Any], AskedChange, Condition, bool], Awaitable[Changed]]


async def _requeue(queue: Queue[Any], asked: AskedChange, where: Condition, dry_run: bool) -> Changed:
    return await queue.requeue(where=where, dry_run=dry_run, even_if_leased=asked.even_if_leased)


async def _reschedule(queue: Queue[Any], asked: AskedChange, where: Condition, dry_run: bool) -> Changed:
    due, delay = forms.when(asked.values)
    if delay is not None:
        return await queue.reschedule(where=where, delay=delay, dry_run=dry_run, even_if_leased=asked.even_if_leased)
    return await queue.reschedule(where=where, due=due, dry_run=dry_run, even_if_leased=asked.even_if_leased)


async def _reprioritise(queue: Queue[Any], asked: AskedChange, where: Condition, dry_run: bool) -> Changed:
    priority = forms.integer(asked.values.get("priority", ""), "the priority")
    return await queue.reprioritise(
        where=where, priority=priority, dry_run=dry_run, even_if_leased=asked.even_if_leased
    )


async def _edit(queue: Queue[Any], asked: AskedChange, where: Condition, dry_run: bool) -> Changed:
    given = forms.edited(asked.values)
    return await queue.edit(where=where, dry_run=dry_run, even_if_leased=asked.even_if_leased, **given)


async def _remove(queue: Queue[Any], asked: AskedChange, where: Condition, dry_run: bool) -> Changed:
    return await queue.remove(where=where, dry_run=dry_run, even_if_leased=asked.even_if_leased)


async def _cancel(queue: Queue[Any], asked: AskedChange, where: Condition, dry_run: bool) -> Changed:
    return await queue.cancel(where=where, dry_run=dry_run)


async def _transfer(queue: Queue[Any], asked: AskedChange, where: Condition, dry_run: bool) -> Changed:
    return await queue.transfer(
        where=where, to=forms.queue_name(asked.values), dry_run=dry_run, even_if_leased=asked.even_if_leased
    )


VERBS: Final[dict[str, Verb]] = {
    "requeue": Verb("Requeue", "requeued", False, _requeue),
    "reschedule": Verb("Reschedule", "rescheduled", False, _reschedule),
    "reprioritise": Verb("Reprioritise", "reprioritised", False, _reprioritise),
    "edit": Verb("Edit", "edited", False, _edit),
    "transfer": Verb("Transfer", "transferred", False, _transfer),
    "cancel": Verb("Cancel", "cancelled", True, _cancel),
    "remove": Verb("Remove", "removed", True, _remove),
}


class Trial(msgspec.Struct, frozen=True):
    """What a change would do.

    Attributes:
        count: how many messages it would change.
        skipped: how many it would skip, because they are leased or their key is taken.
        capped: whether there may be more, because the count stopped early.
    """

    count: int
    skipped: int
    capped: bool

    @property
    def total(self) -> int | None:
        """How many messages it concerns; None: the count stopped early."""
        return None if self.capped else self.count + self.skipped


async def tried(queue: Queue[Any], asked: AskedChange, now: datetime) -> Trial:
    """Return what a change would do: few messages are tried one by one, many are only counted."""
    if asked.verb == "purge":
        number = await queue.count()
        return Trial(int(number), 0, number.capped)
    if asked.verb == "redrive":
        done = await queue.redrive(TRIED, where=asked.letters, dry_run=True)
        return Trial(done.count, done.skipped, done.count >= TRIED)
    if asked.verb == "replay":
        replayed = await queue.replay(where=asked.where or EVERYTHING, limit=TRIED, dry_run=True)
        return Trial(replayed.count, replayed.skipped, replayed.count + replayed.skipped >= TRIED)
    where = asked.condition(now)
    number = await queue.count(where)
    if number <= TRIED:
        changed = await VERBS[asked.verb].apply(queue, asked, where, True)
        return Trial(changed.count, changed.skipped, False)
    # Errors of the change itself, such as a priority out of bounds, show when it is tried on no messages.
    await VERBS[asked.verb].apply(queue, asked, every(where, field("id") < -(1 << 62)), True)
    return Trial(int(number), 0, number.capped)


class ChangeProgress(msgspec.Struct, frozen=True, omit_defaults=True):
    """The progress of a change.

    Attributes:
        last: the id of the last message that it has handled; None: it has not started.
        highest: the id of the last message that it concerns; None: not looked up yet.
        count, skipped: how many messages it has changed, and skipped.
        over: whether it has ended.
        chunk: the turns that the next step of a replay pushes again.
        behind: the turns before that chunk.
        doubtful: the turns whose step was interrupted, so that it is unknown whether they were pushed again.
    """

    last: int | None = None
    highest: int | None = None
    count: int = 0
    skipped: int = 0
    over: bool = False
    chunk: ReplayChunk | None = None
    behind: ReplayChunk | None = None
    doubtful: tuple[ReplayChunk, ...] = ()

    def interrupted(self) -> ChangeProgress:
        """Return the progress after an interrupted step: the turns that it may have pushed again are left out."""
        if self.chunk is None:
            return self
        doubtful = (*self.doubtful, self.chunk)
        return msgspec.structs.replace(self, chunk=None, behind=self.chunk, doubtful=doubtful)

    def after(self, done: Changed, last: int | None, highest: int | None, over: bool) -> ChangeProgress:
        """Return the progress after one more step."""
        number = {"count": self.count + done.count, "skipped": self.skipped + done.skipped}
        return msgspec.structs.replace(self, last=last, highest=highest, over=over, **number)


async def part(
    queue: Queue[Any], asked: AskedChange, now: datetime, before: ChangeProgress, attempt: int
) -> ChangeProgress:
    """Do the next step of a change. An interrupted step is repeated, except by a replay, which continues after it.

    Args:
        queue: the queue of the messages.
        asked: the requested change.
        now: when it was requested, which decides what is ready, delayed or in progress.
        before: the progress so far.
        attempt: how many times this step was started, including this time.
    """
    match asked.verb:
        case "redrive":
            return await _redriven(queue, asked, before)
        case "replay":
            return await _replayed(queue, asked, before if attempt == 1 else before.interrupted())
        case "purge":
            return await _purged(queue, before)
    return await _changed(queue, asked, now, before)


async def _changed(queue: Queue[Any], asked: AskedChange, now: datetime, before: ChangeProgress) -> ChangeProgress:
    """Change messages in the order of their ids; those that are pushed in the meantime stay as they are."""
    where = asked.condition(now)
    highest = before.highest
    if highest is None:
        newest = await queue.find(where, order="-id", limit=1)
        if not newest:
            return before.after(Changed(0), None, None, True)
        highest = newest[0].id
    last = -(1 << 62) if before.last is None else before.last
    page = await queue.find(every(where, field("id") > last, field("id") <= highest), order="id", limit=CHUNK)
    if not page:
        return before.after(Changed(0), last, highest, True)
    some = every(where, field("id") > last, field("id") <= page[-1].id)
    done = await VERBS[asked.verb].apply(queue, asked, some, False)
    return before.after(done, page[-1].id, highest, len(page) < CHUNK)


async def _purged(queue: Queue[Any], before: ChangeProgress) -> ChangeProgress:
    """Remove messages in any state; those that were pushed since the purge started stay."""
    highest = before.highest or 0
    gone = await queue.database.run(lambda: queue.database.store.operations.purge(queue.name, PURGED, highest))
    return before.after(Changed(gone), None, highest, gone < PURGED)


async def _replayed(queue: Queue[Any], asked: AskedChange, before: ChangeProgress) -> ChangeProgress:
    """Push a chunk of turns again, and look up the next ones: their place is recorded before they are pushed."""
    chosen = choice(queue.name, None, asked.where or EVERYTHING, None)
    store, chunk, behind = queue.database.store, before.chunk, before.behind
    done = Replayed(0)
    if chunk is not None:
        place = None if behind is None else behind.last
        done, behind = await queue.database.run(lambda: replay_chunk(store, chosen, place, chunk)), chunk
    following = await queue.database.run(lambda: next_chunk(store, chosen, behind))
    after = before.after(Changed(done.count, done.skipped), None, None, following is None)
    return msgspec.structs.replace(after, chunk=following, behind=behind)


async def _redriven(queue: Queue[Any], asked: AskedChange, before: ChangeProgress) -> ChangeProgress:
    rate = forms.rate_of(asked.values)
    each = REDRIVEN if rate is None else max(1, min(REDRIVEN, int(rate)))
    done = await queue.redrive(each, where=asked.letters, rate=rate)
    return before.after(Changed(done.count, done.skipped), None, None, done.count < each)
