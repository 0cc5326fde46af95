"""The ledger: a line for everything that a process is about to do or has done, in the database's order.

Lines are written in separate transactions, before and after the events that they record. Lines that are evidence of the
end of a message, or of a push in the caller's transaction, are written in the transaction of the event instead, so they
exist if and only if it happened.

    pushing, over            an act with this number begins; it has been committed
    pushed                   a message that it created or changed
    begun, finished          a handler got the message; it is about to answer; whether the turn was still its own
    taken                    it was popped, in a transaction that is over
    extended, in time        its lease was extended by hand; whether the turn was still its own; it had not ended yet
    effect, ended, popped    evidence: the message left its queue in the transaction of this line
    removed                  evidence: an operator removed it
    reviving, revived        an operator is about to bring a dead message back; it came back
    changed                  an operator changed it although it may have been leased
    attempted                a transaction began, which proves nothing
    sent                     a record was pushed into the pipeline
    called                   a station got a record or one of its parts
    inserted                 a row was inserted into the application's own table, in the transaction of this line
    row begun                a handler got a row; in transactional modes, in the transaction of this line
    row effect               what a handler did in the transaction that ended the row's turn
    row ended                the transaction of this line marked a row as done

Lines about records and rows have the name of the record or row as their note.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from duerow import Message
from duerow.queue.history import REPLAY_OF
from duerow.testing.torture.access import Undone
from duerow.testing.torture.environment import Setting

EVIDENCE = frozenset(("effect", "ended", "popped", "removed"))

UNDONE = 0.2
"""The share of transactions that are rolled back on purpose."""

POPPED = "popped"
"""The note of a beginning that is not a turn: the message is taken away in the transaction of the line."""

WITHIN = "w"
"""The suffix of the number of an act that shares a transaction with its lines."""


@dataclass(frozen=True)
class Line:
    """A line of the ledger.

    Attributes:
        what: see above.
        act: the number of the process's act, which is unique in the run; None: a turn of a handler.
        queue, message, token, group: the message concerned.
        since: when the claim that handed out the message began; None if the process cannot tell.
        note: anything else.
        seq: its place in the order of the database.
        process: the number of the process that wrote it.
        at: when, in microseconds by this machine's clock.
        held: whether the turn still had this token at that time; None: nobody asked.
    """

    what: str
    act: str | None = None
    queue: str | None = None
    message: int | None = None
    token: int | None = None
    group: str | None = None
    since: int | None = None
    note: str | None = None
    seq: int = 0
    process: int = 0
    at: int = 0
    held: bool | None = None

    def __str__(self) -> str:
        shown = (self.queue, self.act and f"act {self.act}", self.group and f"group {self.group}", self.note)
        turn = "" if self.token is None else f" token {self.token}"
        held = {True: ", held", False: ", NOT held", None: ""}[self.held]
        more = ", ".join(one for one in shown if one)
        return f"{self.seq:7} {self.at / 1e6:.6f} p{self.process} {self.what} {self.message}{turn} ({more}){held}"


class Ledger:
    """A process's view of the ledger.

    Args:
        setting: the settings of the process that writes.
    """

    def __init__(self, setting: Setting) -> None:
        self._setting, self._access = setting, setting.access
        self._acts = 0

    def new_act(self, within: bool = False) -> str:
        """Return a number for this process's next act; numbers of pushes within a transaction have a suffix."""
        self._acts += 1
        return f"{self._setting.number}.{self._acts}{WITHIN if within else ''}"

    @contextmanager
    def transaction(self, act: str, queue: str) -> Iterator[Any]:
        """Open a transaction for an act, with lines before and after it; sometimes roll back when the block ends."""
        undone = self._setting.chance.random() < UNDONE
        self.write(Line("pushing", act, queue))
        with self._setting.transaction() as opened:
            yield opened
            if undone:
                raise Undone
        if not undone:
            self.write(Line("over", act, queue))

    def write(self, *lines: Line, within: Any = None) -> None:
        """Write lines in a separate transaction, or in the given one."""
        if lines:
            self._access.write([self._row(line) for line in lines], within)

    async def awrite(self, *lines: Line, within: Any) -> None:
        """Write lines in an async transaction."""
        await self._access.awrite([self._row(line) for line in lines], within)

    def ask(self, lines: Iterable[Line]) -> None:
        """Write lines that record whether their turn still has their token."""
        rows = [self._row(line) for line in lines]
        if rows:
            self._access.ask(rows)

    def turn(self, what: str, message: Message, since: int | None = None, note: str | None = None) -> Line:
        """Return a line about a turn; its act is the push of the message, unless it has been pushed again since."""
        act = None if REPLAY_OF in message.headers else message.payload["act"]
        return Line(what, act, message.queue, message.id, message.token, message.group, since, note)

    def lines(self) -> list[Line]:
        """Read all lines."""
        names = list(Line.__dataclass_fields__)
        found = ({name: line[name] for name in names} for line in self._access.lines())
        return [Line(**{**line, "held": None if line["held"] is None else bool(line["held"])}) for line in found]

    def _row(self, line: Line) -> dict[str, Any]:
        row = {name: getattr(line, name) for name in Line.__dataclass_fields__ if name not in ("seq", "held")}
        return {**row, "process": self._setting.number, "at": now()}


def now() -> int:
    """Return this machine's time in microseconds."""
    return time.time_ns() // 1000
