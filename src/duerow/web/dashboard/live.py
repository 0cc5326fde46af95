"""The data of the pages, read once for all viewers, and only while there are viewers."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Collection, Hashable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

import msgspec

from duerow.errors import DuerowError
from duerow.pipeline.graph import Graph
from duerow.queue.definition import Defined
from duerow.queue.schedule import Schedule
from duerow.queue.stats import SEEN, Minute, Stats
from duerow.store import Consumer
from duerow.web.dashboard.rows import stats_of

if TYPE_CHECKING:
    from duerow.web.web import Web

LOG: Final = logging.getLogger("duerow.web")

T = TypeVar("T")

AGE: Final = 0.5
"""Seconds for which data is reused, so that a change appears within a second."""

SLOW_AGE: Final = 2.0
"""Seconds for which data that seldom changes is reused: pipelines and consumers."""

STALE: Final = 30.0
"""Seconds for which old queue names are shown while new ones are read, which takes a while for many queues."""

MINUTES_AGE: Final = 5.0
"""Seconds for which per-minute counts are reused, which processes write every ten seconds."""

LOOKED_AT: Final = 5.0
"""Seconds without a request for the board after which it is no longer read."""

SHARE: Final = 0.25
"""Seconds in each round for reading queues that are on nobody's screen."""

REST_AGE: Final = 5.0
"""Seconds after which queues on nobody's screen are read again."""

TOGETHER: Final = 8
"""How many queues are read at the same time."""

FIRST_WAIT: Final = 0.12
"""Seconds that the first request for many queues waits; queues not read by then appear later."""

LIST_WAIT = 0.1
"""Seconds that a page waits for its list of messages; one that takes longer is shown once it is there."""

SEARCH_REST: Final = 4.0
"""A search rests for four times as long as it took, so that it uses at most a fifth of a connection's time."""

NAMES_REST: Final = 9.0
"""Reading names rests for nine times as long as it took: some databases need a statement for each name."""

LONGEST_REST: Final = 10.0
"""The maximum number of seconds of reading that count when the rest after it is computed."""

FORGET: Final = 60.0
"""Seconds after which an unused value is dropped."""


class Card(msgspec.Struct, frozen=True):
    """A queue's data on the board.

    Attributes:
        stats: its state.
        minutes: the counts of each minute of the last hour.
        read_at: when the statistics were read, on the monotonic clock.
        minutes_at: when the minutes were read.
    """

    stats: Stats
    minutes: list[Minute]
    read_at: float
    minutes_at: float


class _Kept:
    """A value that is being read or has been read."""

    def __init__(self, task: asyncio.Task[Any], began: float) -> None:
        self.task = task
        self.asked_at = began
        self.fresh_until = float("inf")
        self.before: asyncio.Task[Any] | None = None
        self.before_until = 0.0


class Live:
    """Reads data once for all viewers, and reuses it for half a second.

    Any number of viewers of a page cost the database no more than one viewer. Nothing is read in the background unless
    somebody is looking at the overview.

    Args:
        web: the state of the web application.
    """

    def __init__(self, web: Web) -> None:
        self.web = web
        self.reads = 0
        self._kept: dict[Hashable, _Kept] = {}
        self._cards: dict[str, Card] = {}
        self._wanted: dict[str, float] = {}
        self._asked_at = 0.0
        self._round: asyncio.Event | None = None
        self._sweeping: asyncio.Task[None] | None = None

    async def searched(self, key: Hashable, read: Callable[[], Awaitable[T]]) -> T:
        """Return the result of a search by a condition; while it is repeated, callers see the old result."""
        return await self.shared(key, read, AGE, STALE, SEARCH_REST)

    async def shared(
        self, key: Hashable, read: Callable[[], Awaitable[T]], age: float = AGE, stale: float = 0.0, rest: float = 1.0
    ) -> T:
        """Return the result of `read`, shared by all callers with this key while it runs and for `age` seconds.

        A slow result is reused for as long as reading it took, so that reading takes at most half of the time of a
        connection.

        Args:
            key: the name of the data.
            read: reads the data.
            age: the seconds for which the result is reused.
            stale: the additional seconds for which an old result is returned while a new one is being read.
            rest: how long a slow result is reused, as a multiple of the time that reading it took.
        """
        now, kept = self._reading(key, read, age, stale, rest)
        before_task = kept.before
        if not kept.task.done() and before_task is not None and now < kept.before_until and _has_value(before_task):
            return cast(T, before_task.result())
        return cast(T, await asyncio.shield(kept.task))

    async def soon(self, key: Hashable, read: Callable[[], Awaitable[T]]) -> T | None:
        """Return the result of a search if it arrives soon, else the previous one; None if there is none yet.

        The search continues, and a later call gets its result. It is repeated as seldom as with `searched`.
        """
        now, kept = self._reading(key, read, AGE, STALE, SEARCH_REST)
        if not kept.task.done():
            await asyncio.wait((kept.task,), timeout=LIST_WAIT)
        task = kept.task
        if not task.done() and kept.before is not None and now < kept.before_until:
            task = kept.before
        return cast(T, await asyncio.shield(task)) if task.done() else None

    def _reading(
        self, key: Hashable, read: Callable[[], Awaitable[Any]], age: float, stale: float, rest: float
    ) -> tuple[float, _Kept]:
        """Return the time and the data of this key, read or being read; data that is too old is read again."""
        now = time.monotonic()
        kept = self._kept.get(key)
        if kept is None or now > kept.fresh_until:
            before, kept = kept, _Kept(asyncio.ensure_future(_awaited(read)), now)
            self._kept[key] = kept
            kept.task.add_done_callback(partial(_expire, kept, now, age, rest))
            if before is not None:
                kept.before, kept.before_until = before.task, before.fresh_until + stale
            self._forget(now)
        kept.asked_at = now
        return now, kept

    def changed(self) -> None:
        """Drop everything except queue names, because somebody has changed something."""
        self._kept = {key: kept for key, kept in self._kept.items() if key == "names"}

    def forget_names(self) -> None:
        """Read the names of queues again next time, because somebody has added one."""
        self._kept.pop("names", None)

    def _forget(self, now: float) -> None:
        for key in [key for key, kept in self._kept.items() if kept.asked_at + FORGET < now and kept.task.done()]:
            del self._kept[key]

    # What the database knows.

    async def names(self, own: bool = True) -> list[str]:
        """Return the names of all queues except duerow's own; `own` includes queues in the user's tables."""
        found = await self.shared("names", self.web.database.known_queues, AGE, STALE, NAMES_REST)
        rows = set(self.web.options.queues)
        names = set(found)  # known_queues leaves out duerow's own queues
        return sorted(names | rows if own else names - rows)

    async def definitions(self) -> dict[str, Defined]:
        """Return the stored definitions of queues by their names."""
        found = await self.shared("definitions", self.web.database.definitions, AGE, SLOW_AGE)
        return {one.name: one for one in found}

    async def consumers(self) -> list[Consumer]:
        """Return the consumers of the last day."""
        return await self.shared("consumers", self.web.database.consumers, SLOW_AGE, SLOW_AGE)

    async def consumed(self) -> dict[str, int]:
        """Return how many consumers of each queue were seen recently."""
        now = self.web.database.host_time()
        numbers: dict[str, int] = {}
        for one in await self.consumers():
            if now - one.seen_at <= SEEN:
                for queue in one.queues:
                    numbers[queue] = numbers.get(queue, 0) + 1
        return numbers

    async def pipelines(self) -> list[Graph]:
        """Return the declared pipelines."""
        return await self.shared("pipelines", self.web.database.pipelines, SLOW_AGE, SLOW_AGE)

    async def schedules(self) -> list[Schedule]:
        """Return the schedules."""
        return await self.shared("schedules", self.web.database.schedules, AGE)

    # Queues.

    async def card(self, name: str) -> Card:
        """Return the state of a queue, at most half a second old."""
        return await self.shared(("card", name), lambda: self._read(name))

    async def cards(self, names: Collection[str]) -> dict[str, Card]:
        """Return the states of a few queues, at most half a second old."""
        found = await asyncio.gather(*(self.card(name) for name in names))
        return dict(zip(names, found, strict=True))

    async def board(self) -> dict[str, Card]:
        """Return the states of all queues read so far; a task keeps reading them while anybody is looking."""
        self._asked_at = time.monotonic()
        if self._sweeping is None or self._sweeping.done():
            self._round = asyncio.Event()
            self._sweeping = asyncio.ensure_future(self._sweep(self._round))
        if self._round is not None and not self._round.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(self._round.wait(), FIRST_WAIT)
        return self._cards

    def on_screen(self, names: Collection[str]) -> None:
        """Record which queues are on somebody's screen: they are read first, and again every half second."""
        self._wanted.update(dict.fromkeys(names, time.monotonic()))

    async def _sweep(self, first_round: asyncio.Event) -> None:
        while time.monotonic() - self._asked_at < LOOKED_AT:
            began = time.monotonic()
            try:
                await self._sweep_once(began)
            except DuerowError as error:
                LOG.warning("the overview cannot be read: %s", error)
            first_round.set()
            took = time.monotonic() - began
            await asyncio.sleep(max(AGE - took, took / 2))

    async def _sweep_once(self, began: float) -> None:
        names = await self.names()
        known = set(names)
        self._cards = {name: card for name, card in self._cards.items() if name in known}
        self._wanted = {name: at for name, at in self._wanted.items() if at > began - LOOKED_AT}
        first = [name for name in names if name in self._wanted]
        old = began - REST_AGE
        rest = [name for name in names if name not in self._wanted and self._read_at(name) < old]
        rest.sort(key=self._read_at)
        for start in range(0, len(first), TOGETHER):
            await self._read_some(first[start : start + TOGETHER])
        for start in range(0, len(rest), TOGETHER):
            if time.monotonic() - began > SHARE:
                break
            await self._read_some(rest[start : start + TOGETHER])

    def _read_at(self, name: str) -> float:
        card = self._cards.get(name)
        return 0.0 if card is None else card.read_at

    async def _read_some(self, names: list[str]) -> None:
        for name, card in zip(names, await asyncio.gather(*map(self.card, names)), strict=True):
            self._cards[name] = card

    async def _read(self, name: str) -> Card:
        self.reads += 1
        queue = await self.web.queue(name, create=True)
        now = time.monotonic()
        if name in self.web.options.queues:
            return Card(await stats_of(cast(Any, queue)), [], now, now)
        before = self._cards.get(name)
        stats = await queue.stats()
        if before is not None and (
            now - before.minutes_at < MINUTES_AGE or (not before.minutes and before.stats.lifetime == stats.lifetime)
        ):
            return Card(stats, before.minutes, now, before.minutes_at)
        return Card(stats, await queue.minutes(), now, now)


def fresh_until(began: float, now: float, age: float, rest: float) -> float:
    """Return until when data is reused that took from `began` to `now` to read."""
    took = now - began
    return max(began + age, now + min(took * rest, LONGEST_REST * rest) if took * rest > age else 0.0)


def _has_value(task: asyncio.Task[Any]) -> bool:
    return task.done() and not task.cancelled() and task.exception() is None


async def _awaited(read: Callable[[], Awaitable[T]]) -> T:
    return await read()


def _expire(kept: _Kept, began: float, age: float, rest: float, task: asyncio.Task[Any]) -> None:
    now = time.monotonic()
    kept.fresh_until = fresh_until(began, now, age, rest)
    if not task.cancelled():
        task.exception()  # callers that wait get it, but there may be none
