"""What SQL Server's errors mean, by their numbers."""

from __future__ import annotations

import re
from typing import Final

from duerow.errors import ConfigurationError, Conflict, DuerowError, SchemaOutdated, StoreRefused, StoreUnavailable

CONFLICTS: Final = {1205, 1222, 2601, 2627, 3960, 3961, 51222}
"""Deadlock victim, lock timeout, a duplicate key (only possible in a race), a row changed since a snapshot."""

OF_ROW: Final = {2601, 2627, 515, 547, 550, 220, 8115, 8152, 2628, 245, 241, 242, 8114, 511, 1946, 50000, 3609}
"""The row is rejected: a duplicate, NULL, a constraint, a view's check, a value that is out of range, too long or of
another kind, a row that is too large, or an error raised by a trigger."""

UNAVAILABLE: Final = {
    *(-2, 64, 121, 233, 258, 596, 10053, 10054, 10060, 10061, 11001),
    *(701, 802, 1101, 1105, 8645, 8651, 9001, 9002, 3906, 3908, 5149, 6005, 17142, 17143, 976, 978, 983),
    *(4221, 10928, 10929, 10936, 40143, 40166, 40197, 40501, 40540, 40544, 40549, 40550, 40551, 40552, 40553, 40613),
    *(49918, 49919, 49920),
}
"""No connection or a lost one; a killed session; a server that stops, is read-only or out of space; Azure's errors."""

_NO_TABLES: Final = {207, 208, 2812}
_FORBIDDEN: Final = {229, 230, 262, 297, 300, 911, 916, 1088, 2760, 4060, 15151, 15247, 18452, 18456, 18470, 18488}
_SKIPS_AT_A_LEVEL: Final = 650
_HAS_TRIGGERS: Final = 334

_NUMBER = re.compile(r"\((-?\d+)\)(?: \(SQL\w+\))?\s*(?:;.*)?$", re.DOTALL)
"""The server's error number at the end of ODBC's message, the only place where pyodbc provides it."""

_DUPLICATES: Final = {2601, 2627}
_NAMES_ONLY: Final = {
    *(CONFLICTS - _DUPLICATES),
    *UNAVAILABLE,
    *_NO_TABLES,
    *_FORBIDDEN,
    *(_SKIPS_AT_A_LEVEL, _HAS_TRIGGERS, 515, 547, 8152),
}
"""Errors whose text contains names, but no values of a row."""

_QUOTED: Final = re.compile(r"'([^']*)'")

_DROPPED: Final = ("08", "HYT")

OUT_OF_TIME: Final = "HYT00"
"""The driver timed out waiting for a response."""

_REFUSED: Final = ("28", "IM", "01000")


def explained(error: BaseException) -> DuerowError | None:
    """Return duerow's error for a pyodbc error, by the server's number or else by SQLSTATE; None for any other."""
    module = type(error).__module__.partition(".")[0]
    if module not in ("pyodbc", "aioodbc", "sqlalchemy"):
        return None
    state, number = state_of(error), _number(error)
    told = _told(error, state, number)
    if number in CONFLICTS or state == "40001":
        text = f"SQL Server ended this statement in favor of another one (error {number}){told}"
        return Conflict(text, of_row=number in OF_ROW)
    if number == _SKIPS_AT_A_LEVEL:
        return ConfigurationError(
            "SQL Server cannot pass over locked rows in a SERIALIZABLE transaction (error 650): "
            "take messages at READ COMMITTED, REPEATABLE READ or SNAPSHOT"
        )
    if number == _HAS_TRIGGERS:
        return ConfigurationError(
            "SQL Server returns no rows from a statement that changes a table with an enabled trigger (error 334), "
            f"so its rows cannot be a queue{told}"
        )
    if number in _FORBIDDEN:
        return ConfigurationError(f"SQL Server does not let this login do that (error {number}){told}")
    if number in UNAVAILABLE or state.startswith(_DROPPED):
        return StoreUnavailable(f"SQL Server is not available ({number or state}){told}")
    if number in _NO_TABLES:
        return SchemaOutdated(
            f"duerow's tables are missing or do not match this version (error {number}){told}; run migrate"
        )
    if state.startswith(_REFUSED):
        return ConfigurationError(f"cannot connect to SQL Server ({state}){told}")
    if not state:
        lost = type(error).__name__ in ("InterfaceError", "OperationalError")
        return StoreUnavailable(f"the connection to SQL Server failed: {error}") if lost else StoreRefused(str(error))
    return StoreRefused(f"SQL Server refused a statement ({number or state}){told}", of_row=number in OF_ROW)


def _told(error: BaseException, state: str, number: int | None) -> str:
    """Return the part of a message that contains only names: for a duplicate key, the name of the constraint."""
    text = str(error.args[-1]) if error.args else ""
    if number in _DUPLICATES:
        names = _QUOTED.findall(text.partition("The duplicate key value")[0])
        return f": duplicate key ({', '.join(names)})" if names else ""
    if number in _NAMES_ONLY or (number is None and state.startswith((*_DROPPED, *_REFUSED))):
        return f": {text}"
    return ""


def state_of(error: BaseException) -> str:
    """Return the SQLSTATE of a driver's error."""
    state = error.args[0] if error.args else ""
    return state if isinstance(state, str) and len(state) == 5 else ""


def _number(error: BaseException) -> int | None:
    """Return the server's number for an error; None if the error is the driver's own or the number is 0."""
    said = str(error.args[1]) if len(error.args) > 1 else ""
    found = _NUMBER.search(said)
    return int(found[1]) or None if found else None
