"""What PostgreSQL's errors mean, by SQLSTATE, and which parts may be shown: names, never values of a row."""

from __future__ import annotations

from typing import Any, Final

from duerow.errors import ConfigurationError, Conflict, DuerowError, SchemaOutdated, StoreRefused, StoreUnavailable

CONFLICTS: Final = {"40001", "40P01", "55P03", "23505"}
"""Serialization failure, deadlock, lock timeout; and a unique violation, which only a race can cause."""

OF_ROW: Final = ("22", "23", "44", "54", "P0")
"""The row is rejected: a value, a constraint, a view's check, a size, or an error raised by a trigger function."""

QUERY_CANCELED: Final = "57014"
"""A statement exceeded its timeout or was cancelled."""

UNAVAILABLE: Final = {
    *("57P01", "57P02", "57P03", "57P04", "57P05", "25P03", QUERY_CANCELED, "25006"),
    *("53000", "53100", "53200", "53300", "53400", "58000", "58030"),
}
"""The server stops, starts, cancels, ends an idle session, or is read-only, like a standby; it is out of disk, memory
or connections, or encountered a system error."""

_LOST: Final = {
    "OperationalError",
    "InterfaceError",
    "ConnectionTimeout",
    "ConnectionDoesNotExistError",
    "InternalClientError",
    "InternalError",  # without a SQLSTATE, the driver could not interpret a response
}

_NAMES_ONLY: Final = ("08", "0A", "23", "25", "28", "3D", "3F", "40", "42", "53", "54", "55", "57", "58")
"""Classes of errors whose first line has names but no values; the DETAIL below it may always have values."""


def state_of(error: BaseException) -> str | None:
    """Return the SQLSTATE of a driver's error; None if it has none."""
    return getattr(error, "sqlstate", None) or getattr(error, "pgcode", None)


def explained(error: BaseException) -> DuerowError | None:
    """Return duerow's error for a driver's error; None for any other error."""
    module = type(error).__module__.partition(".")[0]
    if module not in ("psycopg", "psycopg2", "asyncpg", "sqlalchemy", "adbc_driver_manager"):
        return None
    state = state_of(error)
    if state is None:
        lost = type(error).__name__ in _LOST or isinstance(error, OSError)
        return StoreUnavailable(f"the connection to PostgreSQL failed: {error}") if lost else StoreRefused(str(error))
    said = f"(SQLSTATE {state}){_told(error, state)}"
    if state in CONFLICTS:
        text = f"PostgreSQL ended this transaction in favor of another one {said}"
        return Conflict(text, of_row=state.startswith(OF_ROW))
    if state.startswith("08") or state in UNAVAILABLE:
        return StoreUnavailable(f"PostgreSQL is not available {said}")
    if state in ("42P01", "3F000", "42703"):
        return SchemaOutdated(f"duerow's tables are missing or do not match this version {said}; run migrate")
    if state == "42501":
        return ConfigurationError(f"this role may not do that {said}")
    if state.startswith("28") or state == "3D000":
        return ConfigurationError(f"PostgreSQL refused the connection {said}")
    return StoreRefused(f"PostgreSQL refused a statement {said}", of_row=state.startswith(OF_ROW))


def _told(error: BaseException, state: str) -> str:
    """Return the part of the server's message that contains only names, with the object that it names."""
    # asyncpg's errors are the causes of the errors that SQLAlchemy raises for them, and have the fields of the message.
    fields: Any = getattr(error, "diag", None) or getattr(error, "__cause__", None) or error
    first = getattr(fields, "message_primary", None) or (fields.args[0] if getattr(fields, "args", None) else None)
    is_asyncpg = type(fields).__module__.startswith("asyncpg")
    whole = hasattr(fields, "message_primary") or is_asyncpg  # otherwise the text may include the DETAIL
    line = f": {first}" if first and whole and state.startswith(_NAMES_ONLY) else ""
    kinds = ("constraint", "table", "column")
    places = [f"{kind} {name}" for kind in kinds if (name := getattr(fields, f"{kind}_name", None))]
    named = [place for place in places if place.partition(" ")[2] not in line]
    where = f" [{', '.join(named)}]" if named else ""
    return f"{line}{where}" if line or named else f": {type(error).__name__}"
