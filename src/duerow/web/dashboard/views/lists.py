"""Dead letters, workers and jobs: the lists of things other than queues."""

from __future__ import annotations

import hashlib
from datetime import timedelta
from functools import partial
from typing import Any, Final

import msgspec

from duerow.errors import DuerowError
from duerow.message import Message
from duerow.payload import dead_letter_headers
from duerow.queue.stats import SEEN
from duerow.store import Consumer
from duerow.web.dashboard.filters import number, said
from duerow.web.dashboard.selection import Selection, after, place_of
from duerow.web.dashboard.views.overview import rows_of
from duerow.web.dashboard.visit import NotFound, Shown, Visit
from duerow.where import field

SAMPLE: Final = 500
"""How many dead letters of a queue are read to group them by their errors."""

HELD: Final = 100
"""How many leased messages of a queue a page shows."""

LONGEST_LEASE: Final = timedelta(hours=6)
"""Leases that end later are not searched for, because that part of the index contains the delayed messages."""


class DeadGroup(msgspec.Struct):
    """Dead letters of a queue that failed with the same type of error.

    Attributes:
        queue: the queue that holds them.
        error: the type of their error.
        text: the error message of the latest.
        count: how many of the dead letters that were read are in the group.
        latest: the latest of them.
        where: the condition that finds them; None: they stayed in their queue, so only their ids find them.
        source: the queue from which they were moved; None: they stayed in their queue.
        ids: the ids of those that were read.
    """

    queue: str
    error: str
    text: str
    count: int
    latest: Message[Any]
    where: str | None
    source: str | None
    ids: list[int] = []

    @property
    def name(self) -> str:
        """The name of the group within the page; it stays the same when the page is updated."""
        return hashlib.sha256(f"{self.queue}\0{self.error}\0{self.source}".encode()).hexdigest()[:12]


class Letters(msgspec.Struct):
    """The dead letters of a queue, grouped by error; `shown` is how many there are, as text."""

    queue: str
    shown: str
    moved: bool
    groups: list[DeadGroup]
    read: int
    operates: bool


async def dead_letters(visit: Visit) -> Shown:
    """Show dead letters, grouped by how they failed."""
    now = visit.web.database.host_time()
    names = [name for name in await visit.live.names(own=False) if visit.sees(name)]
    cards = await visit.live.board()
    rows = await rows_of(visit, names, cards, now)
    definitions = await visit.live.definitions()
    targets = {one.definition.dead_letter for one in definitions.values() if one.definition is not None}
    listed = []
    for row in rows:
        if row.card is None:
            continue
        stats, moved = row.card.stats, row.name in targets
        if stats.dead or (moved and stats.ready):
            shown = stats.shown("ready" if moved else "dead")
            read = partial(_letters, visit, row.name, moved, shown)
            letters = await visit.live.shared(("dead", row.name, shown), read, 2.0)
            if letters.read:
                listed.append(letters)
    visit.live.on_screen([one.queue for one in listed])
    for one in listed:
        one.operates = visit.operates(one.queue)
    return Shown(
        "dead.html",
        "Dead letters",
        {"listed": listed, "read": sum(row.card is not None for row in rows), "count": len(rows)},
    )


async def _letters(visit: Visit, name: str, moved: bool, shown: str) -> Letters:
    handle = await visit.web.queue(name)
    if moved:
        where = field(f'headers."{dead_letter_headers.FROM}"').is_not_null() & field("status").in_(("new", "error"))
        found = await handle.find(where, order="-id", limit=SAMPLE)
    else:
        found = await handle.find(status="dead", order="-id", limit=SAMPLE)
    groups: dict[tuple[str, str | None], DeadGroup] = {}
    for one in found:
        seen = visit.web.shown(one)
        reason = str(seen.headers.get(dead_letter_headers.REASON, ""))
        error = reason.partition(":")[0] if moved else seen.last_error.type if seen.last_error else "no error"
        text = reason.partition(":")[2].strip() if moved else said(seen.last_error)[2:] if seen.last_error else ""
        source = str(seen.headers.get(dead_letter_headers.FROM)) if moved else None
        group = groups.get((error, source))
        if group is None:
            group = groups[error, source] = DeadGroup(name, error, text, 0, seen, _where(error, moved, source), source)
        group.count += 1
        group.ids.append(one.id)
    if len(found) < SAMPLE:  # all were read, and more recently than the statistics
        shown = number(len(found))
    return Letters(name, shown, moved, sorted(groups.values(), key=lambda one: -one.count), len(found), False)


def _where(error: str, moved: bool, source: str | None) -> str | None:
    """Return the condition for dead letters with an error, as closely as conditions can express it."""
    if not moved:
        return None
    pattern = error.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    reason = field(f'headers."{dead_letter_headers.REASON}"').like(f"{pattern}%")
    return str(reason & (field(f'headers."{dead_letter_headers.FROM}"') == source))


# Workers.


class Holder(msgspec.Struct):
    """A consumer and the messages that it holds."""

    name: str
    consumer: Consumer | None
    is_there: bool
    held: list[Message[Any]]


async def workers(visit: Visit) -> Shown:
    """Show the consumers and the messages that each holds, in pages if a queue has many."""
    only, beginning = visit.get("queue"), visit.get("after")
    now = visit.web.database.host_time()
    holders: dict[str, Holder] = {}
    for one in await visit.live.consumers():
        if any(map(visit.sees, one.queues)) and (not only or only in one.queues):
            holders[one.name] = Holder(one.name, one, now - one.seen_at <= SEEN, [])
    names = [name for name in await visit.live.names(own=False) if visit.sees(name)]
    cards = await visit.live.board()
    leasing = [name for name in names if name in cards and cards[name].stats.leased and only in ("", name)]
    visit.live.on_screen(leasing)
    more: dict[str, str] = {}
    for name in leasing:
        place = beginning if only else ""
        held = await visit.live.shared(("held", name, place), partial(_held, visit, name, place))
        if len(held) > HELD:
            more[name] = place_of(held[HELD - 1], "due_at")
        for message in held[:HELD]:
            who = str(message.leased_by).partition("/")[0]
            holders.setdefault(who, Holder(who, None, True, [])).held.append(visit.web.shown(message))
    listed = sorted(holders.values(), key=lambda one: (not one.is_there, not one.held, one.name))
    return Shown("workers.html", "Workers", {"listed": listed, "more": more, "most": HELD, "only": only})


async def _held(visit: Visit, name: str, place: str) -> list[Message[Any]]:
    handle = await visit.web.queue(name)
    now = visit.web.database.host_time()
    due = field("due_at")
    soon = (due > now) & (due <= now + max(LONGEST_LEASE, handle.lease)) & (field("leased_until") > now)
    try:
        begin = after(Selection("all", "", None, "due_at", place))
        return await handle.find(soon, order="due_at", limit=HELD + 1, after=begin)
    except DuerowError:  # too many delayed messages to look through
        return []


# Background jobs.


async def jobs(visit: Visit) -> Shown:
    """Show the background jobs, finished and unfinished."""
    found = await visit.live.shared("jobs", visit.jobs.all)
    return Shown("jobs.html", "Background jobs", {"listed": [job for job in found if visit.sees(job.queue)]})


async def job(visit: Visit) -> Shown:
    """Show one job."""
    id = visit.request.path_params["id"]
    found = await visit.live.shared(("job", id), lambda: visit.jobs.get(id))
    if found is None or not visit.sees(found.queue):
        raise NotFound("there is no such job; finished jobs are kept for 30 days")
    return Shown("job.html", found.title, {"job": found, "operates": visit.operates(found.queue)})
