"""The ledger: one line for each thing that a process is about to do or did, in an order that the database gives.

Lines are written in transactions of their own, before and after what they speak of, except those that are evidence of
the end of a message or of a push in the caller's transaction: these are written in the same one, and so stand there if
and only if it happened.

    pushing, over            an act with this number begins; it has been committed
    pushed                   a message that it created or changed
    begun, finished          a handler was given the message, and is about to answer; whether the turn was its own then
    taken                    it was popped, in a transaction that is over
    extended, in time        its lease was extended by hand, and whether the turn was its own then; it had not ended yet
    effect, ended, popped    evidence: the message left its queue in the transaction of this line
    removed                  evidence: an operator removed it
    reviving, revived        an operator is about to bring a dead message back; it came back
    changed                  an operator changed it although it may have been leased
    attempted                a transaction began; nothing follows from it
    sent                     a record was pushed into the pipeline
    called                   a station was given a record, or a part of one
    inserted                 a row of the application's own table was inserted in the transaction of this line
    row begun                a handler was given a row; in transactional modes, in the transaction of this line
    row effect               what a handler wrote in the transaction that ends the turn of a row
    row ended                a row is done by the transaction of this line

Records and rows have names, which the lines about them have as a note.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from duerow import Message
from duerow.queue.history import REPLAY_OF
from duerow.testing.torture.environment import Setting

EVIDENCE = frozenset(("effect", "ended", "popped", "removed"))

POPPED = "popped"
"""The note of a beginning that is no turn: the message is taken away in the transaction of the line."""

WITHIN = "w"
"""What the number of an act ends with that is in one transaction with its lines."""


@dataclass(frozen=True)
class Line:
    """One line.

    Attributes:
        what: see above.
        act: the number of what the process does, no other's in the run; None: a turn of a handler.
        queue, message, token, group: what it is about.
        since: when the claim began by which the message was handed out, as far as the process can tell; else None.
        note: anything else.
        seq: its place in the order of the database.
        process: who wrote it.
        at: when, in microseconds of this machine.
        held: whether the turn was still that of this token then; None: nobody asked.
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
    """The ledger, as one process sees it.

    Args:
        setting: the database, and who writes.
    """

    def __init__(self, setting: Setting) -> None:
        self._setting, self._access = setting, setting.access
        self._acts = 0

    def new_act(self, within: bool = False) -> str:
        """Return a number for what this process does next; those of pushes within a transaction can be told."""
        self._acts += 1
        return f"{self._setting.number}.{self._acts}{WITHIN if within else ''}"

    def write(self, *lines: Line, within: Any = None) -> None:
        """Write lines in a transaction of their own, or in the given one."""
        if lines:
            self._access.write([self._row(line) for line in lines], within)

    async def awrite(self, *lines: Line, within: Any) -> None:
        """Write lines in a transaction that has to be awaited."""
        await self._access.awrite([self._row(line) for line in lines], within)

    def ask(self, lines: Iterable[Line]) -> None:
        """Write lines with whether the turn that they speak of is still that of their token."""
        rows = [self._row(line) for line in lines]
        if rows:
            self._access.ask(rows)

    def turn(self, what: str, message: Message, since: int | None = None, note: str | None = None) -> Line:
        """Return a line about a turn; its act is the push that the message is of, unless it was pushed again since."""
        act = None if REPLAY_OF in message.headers else message.payload["act"]
        return Line(what, act, message.queue, message.id, message.token, message.group, since, note)

    def lines(self) -> list[Line]:
        """Read all."""
        names = list(Line.__dataclass_fields__)
        found = ({name: line[name] for name in names} for line in self._access.lines())
        return [Line(**{**line, "held": None if line["held"] is None else bool(line["held"])}) for line in found]

    def _row(self, line: Line) -> dict[str, Any]:
        row = {name: getattr(line, name) for name in Line.__dataclass_fields__ if name not in ("seq", "held")}
        return {**row, "process": self._setting.number, "at": now()}


def now() -> int:
    """Return the time of this machine in microseconds."""
    return time.time_ns() // 1000
