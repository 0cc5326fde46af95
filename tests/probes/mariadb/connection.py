"""One connection to MariaDB, which carries out plans: begins when they say so, commits, retries victims."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar
from urllib.parse import urlsplit

import pymysql
from pymysql.cursors import DictCursor

from duerow.plan import BEGIN, Plan, Transaction, run
from tests.probes.contract import Conflict
from tests.probes.mariadb import tables
from tests.probes.mariadb.statements import Answer, Statement

T = TypeVar("T")

TRIES: Final = 10
DEADLOCK, LOCK_TIMEOUT, DUPLICATE_ENTRY = 1213, 1205, 1062

# The last is the race of a move whose key was pushed between its look and its write: the next try sees the key.
WORTH_ANOTHER_TRY: Final = frozenset({DEADLOCK, LOCK_TIMEOUT, DUPLICATE_ENTRY})


class MariaDBConnection:
    """Carries out plans of statements; `trace` keeps each statement as it ran."""

    def __init__(self, url: str) -> None:
        self.raw = connect(url)
        self.trace: list[Statement] = []
        self.tries = 0
        self._in_transaction = False

    def carry_out(self, make_plan: Callable[[], Plan[T]]) -> T:
        """Carry out a plan made anew for every try, since a deadlock undoes all that the last one did."""
        for _ in range(TRIES):
            self.tries += 1
            try:
                result = run(make_plan(), self.execute)
            except Conflict as conflict:
                self._end(self.raw.rollback)
                lost = conflict
            except BaseException:
                self._end(self.raw.rollback)
                raise
            else:
                self._end(self.raw.commit)
                return result
        raise lost

    def execute(self, step: Transaction | Statement) -> Answer | None:
        """Hand one step to the server."""
        if step is BEGIN:
            self.raw.begin()
            self._in_transaction = True
            return None
        assert isinstance(step, Statement)
        self.trace.append(step)
        with self.raw.cursor() as cursor:
            try:
                cursor.execute(step.text, step.values)
            except (pymysql.OperationalError, pymysql.IntegrityError) as error:
                if error.args[0] in WORTH_ANOTHER_TRY:
                    raise Conflict from error
                raise
            return Answer(list(cursor.fetchall()))

    def close(self) -> None:
        self.raw.close()

    def _end(self, end: Callable[[], None]) -> None:
        if self._in_transaction:
            self._in_transaction = False
            end()


def connect(url: str, client_flag: int = 0) -> pymysql.Connection[DictCursor]:
    """A connection of our own: every statement by itself unless told otherwise, and no gap locks."""
    parts = urlsplit(url)
    return pymysql.connect(
        host=parts.hostname or "127.0.0.1",
        port=parts.port or 3306,
        user=parts.username,
        password=parts.password or "",
        database=parts.path.lstrip("/"),
        charset="utf8mb4",
        autocommit=True,
        client_flag=client_flag,
        cursorclass=DictCursor,
        init_command="SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
    )


def prepare(url: str) -> None:
    """Make the tables anew."""
    with connect(url) as raw, raw.cursor() as cursor:
        for statement in (*tables.DROP, *tables.CREATE):
            cursor.execute(statement)
