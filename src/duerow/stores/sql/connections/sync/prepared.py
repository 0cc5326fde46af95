# Generated from ../aio/prepared.py by tools/generate_sync.py; edit that file instead.
"""Prepared statements of a psycopg connection that only duerow uses, executed through psycopg's libpq directly.

psycopg's cursor prepares statements as well, but needs more of the processor for a push than the rest of the client.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any, Final, NamedTuple

from duerow.errors import Conflict
from duerow.stores.sql.connections.lenient_reads import read_again
from duerow.stores.sql.connections.psycopg_cursors import numbered

MOST: Final = 100
"""How many statements are prepared on a connection, and how many are counted until they are."""

MOST_TYPES: Final = 8
"""How many times a statement is prepared, each time for other types of values."""

_NUMBERS: Final = count()  # unique in this process, so a name is never used twice on a connection


class _Known(NamedTuple):
    """A statement that was executed often enough to be prepared.

    Attributes:
        query: its text, with numbered parameters.
        parameters: the names of its parameters, in this order.
        formats: lets psycopg choose a format for each of them.
        names: its names on the server, by the types of its parameters.
    """

    query: bytes
    parameters: tuple[str, ...]
    formats: Sequence[Any]
    names: dict[tuple[int, ...] | None, bytes]


class PreparedStatements:
    """The prepared statements of a connection, next to those that psycopg prepares itself.

    psycopg deallocates all of a session's statements if it has prepared some and then rolls back, or drops something.
    `recall` must follow a rollback. Otherwise a cursor executes a statement that is missing; if it is missing in a
    transaction, that is repeated.

    Args:
        raw: psycopg's connection.
    """

    def __init__(self, raw: Any) -> None:
        from psycopg import generators
        from psycopg.adapt import AdaptersMap, Transformer
        from psycopg.pq import ExecStatus, Format

        self.connection, self.adapters = raw, AdaptersMap(raw.adapters)
        self._answered = generators.execute
        self._transformer = Transformer(self)
        self._binary, self._rows, self._done = Format.BINARY, ExecStatus.TUPLES_OK, ExecStatus.COMMAND_OK
        self._counts: dict[str, int] = {}
        self._known: dict[str, _Known] = {}
        self.pgresult: Any = None

    def execute(self, text: str, values: Mapping[str, Any]) -> list[Any] | None:
        """Execute a statement if it has been executed often; return its rows, [] if it has none.

        None: it was not executed and is for a cursor; its executions are counted until it is prepared.

        Raises:
            Conflict: the session has lost its prepared statements, so its transaction has failed.
            psycopg.Error: as from a cursor.
        """
        known = self._known.get(text)
        if known is None and (known := self._counted(text)) is None:
            return None
        transformer, pgconn = self._transformer, self.connection.pgconn
        given = transformer.dump_sequence(list(map(values.__getitem__, known.parameters)), known.formats)
        types, formats = transformer.types, transformer.formats
        if (name := known.names.get(types)) is None:
            if len(known.names) >= MOST_TYPES:
                return None
            name = f"duerow_{next(_NUMBERS)}".encode()
            pgconn.send_prepare(name, known.query, types)
            self._answer(known)
            known.names[types] = name
        pgconn.send_query_prepared(name, given, formats, self._binary)
        result = self._answer(known)
        if result is None:
            return None
        if result.status != self._rows:
            return []
        transformer.set_pgresult(result)
        try:
            return transformer.load_rows(0, result.ntuples, tuple)
        except Exception as error:
            self.pgresult = result
            return read_again(self, error)

    def _counted(self, text: str) -> _Known | None:
        executions = self._counts.pop(text, 0)
        if executions < self.connection.prepare_threshold or len(self._known) >= MOST:
            if len(self._counts) >= MOST:
                self._counts.clear()
            self._counts[text] = executions + 1
            return None
        from psycopg.adapt import PyFormat

        query, parameters = numbered(text)
        known = _Known(query.encode(self.connection.info.encoding), parameters, [PyFormat.AUTO] * len(parameters), {})
        self._known[text] = known
        return known

    def _answer(self, known: _Known) -> Any:
        """Return the result of a statement; None if the session no longer has it, and no transaction is open."""
        results = self.connection.wait(self._answered(self.connection.pgconn))
        for result in results:  # an error of the commit comes after the rows
            if result.status != self._rows and result.status != self._done:
                return self._failed(known, result)
        return results[0]

    def _failed(self, known: _Known, result: Any) -> None:
        from psycopg.errors import FeatureNotSupported, InvalidSqlStatementName, error_from_result
        from psycopg.pq import TransactionStatus

        error = error_from_result(result, encoding=self.connection.info.encoding)
        if isinstance(error, FeatureNotSupported):  # perhaps because a column has another type since
            known.names.clear()
        if not isinstance(error, InvalidSqlStatementName):
            raise error
        self._known.clear()
        if self.connection.pgconn.transaction_status != TransactionStatus.IDLE:
            raise Conflict("the session has lost its prepared statements, so its transaction failed") from error

    def is_busy(self) -> bool:
        """Return whether an answer is still on its way, because its call was interrupted."""
        from psycopg.pq import TransactionStatus

        return bool(self.connection.pgconn.transaction_status == TransactionStatus.ACTIVE)

    def recall(self) -> None:
        """Forget the statements that the session no longer has."""
        if self._known:
            cursor = self.connection.execute("SELECT name FROM pg_prepared_statements", prepare=False)
            left = {name.encode() for (name,) in cursor.fetchall()}
            for known in self._known.values():
                for types in [types for types, name in known.names.items() if name not in left]:
                    del known.names[types]


def prepared_on(raw: Any) -> PreparedStatements | None:
    """Return the prepared statements of a connection of duerow's own engine; None: no psycopg, or no preparing."""
    return None if getattr(raw, "prepare_threshold", None) is None else PreparedStatements(raw)
