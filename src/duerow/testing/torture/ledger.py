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
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Integer,
    MetaData,
    String,
    Table,
    bindparam,
    column,
    func,
    insert,
    select,
    table,
)

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
    """The table, as one process sees it.

    Args:
        setting: the database, and who writes.
    """

    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        wide = BigInteger().with_variant(Integer, "sqlite")
        self.table = Table(
            f"{setting.prefix}ledger",
            MetaData(),
            Column("seq", wide, primary_key=True, autoincrement=True),
            Column("what", String(20)),
            Column("act", String(40)),
            Column("queue", String(100)),
            Column("message", BigInteger),
            Column("token", BigInteger),
            Column("group", String(100)),
            Column("since", BigInteger),
            Column("note", String(200)),
            Column("process", Integer),
            Column("at", BigInteger),
            Column("held", Integer),
        )
        messages = table(f"{setting.prefix}message", column("id"), column("token"), column("leased_by"))
        same = (
            messages.c.id == bindparam("of"),
            messages.c.token == bindparam("its"),
            messages.c.leased_by.isnot(None),
        )
        self._plain = insert(self.table)
        self._asking = insert(self.table).values(held=select(func.count()).where(*same).scalar_subquery())
        self._acts = 0

    def create(self) -> None:
        """Make the table."""
        self.table.create(self._setting.engine)

    def new_act(self, within: bool = False) -> str:
        """Return a number for what this process does next; those of pushes within a transaction can be told."""
        self._acts += 1
        return f"{self._setting.number}.{self._acts}{WITHIN if within else ''}"

    def write(self, *lines: Line, within: Connection | None = None) -> None:
        """Write lines in a transaction of their own, or in the given one."""
        self._write(self._plain, [self._row(line) for line in lines], within)

    def ask(self, lines: Iterable[Line], within: Connection | None = None) -> None:
        """Write lines with whether the turn that they speak of is still that of their token."""
        rows = [{**self._row(line), "of": line.message, "its": line.token} for line in lines]
        self._write(self._asking, rows, within)

    def inserting(self, lines: Sequence[Line]) -> tuple[Any, list[dict[str, Any]]]:
        """Return the statement that writes lines, and its rows: for a connection that has to be awaited."""
        return self._plain, [self._row(line) for line in lines]

    def turn(self, what: str, message: Message, since: int | None = None, note: str | None = None) -> Line:
        """Return a line about a turn; its act is the push that the message is of, unless it was pushed again since."""
        act = None if REPLAY_OF in message.headers else message.payload["act"]
        return Line(what, act, message.queue, message.id, message.token, message.group, since, note)

    def lines(self) -> list[Line]:
        """Read all."""
        columns = self.table.c
        names = list(Line.__dataclass_fields__)
        with self._setting.engine.connect() as connection:
            rows = connection.execute(select(*(columns[name] for name in names)).order_by(columns.seq)).all()
        found = (dict(zip(names, row, strict=True)) for row in rows)
        return [Line(**{**line, "held": None if line["held"] is None else bool(line["held"])}) for line in found]

    def _write(self, statement: Any, rows: Sequence[dict[str, Any]], within: Connection | None) -> None:
        if not rows:
            return
        if within is not None:
            within.execute(statement, rows)
            return
        with self._setting.engine.begin() as connection:
            connection.execute(statement, rows)

    def _row(self, line: Line) -> dict[str, Any]:
        row = {name: getattr(line, name) for name in Line.__dataclass_fields__ if name not in ("seq", "held")}
        return {**row, "process": self._setting.number, "at": now()}


def now() -> int:
    """Return the time of this machine in microseconds."""
    return time.time_ns() // 1000
