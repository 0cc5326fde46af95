"""Errors over HTTP: how they become members of a problem (RFC 9457), and the same errors again at the client."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final, Literal

from duerow import errors
from duerow.errors import DuerowError

ERROR: Final = "error"
"""The member that names the class of an error."""

DETAIL: Final = "detail"
"""The member that holds the text of an error."""

_FIELDS: Final[Mapping[type[DuerowError], tuple[str, ...]]] = {
    errors.UnknownName: ("what", "name", "nearest", "where"),
    errors.DuplicateKey: ("queue", "keys", "remembered"),
    errors.LeaseLost: ("message_id", "until"),
    errors.MessageLeased: ("message_id", "leased_by"),
    errors.QueueDraining: ("queue",),
    errors.KeyMissing: ("key_id",),
}
"""The errors that are made from values: the names of those values, in the order of their arguments."""

_OF_TEXT: Final[tuple[type[DuerowError], ...]] = (
    errors.InvalidCondition,
    errors.NotSupported,
    errors.ConfigurationError,
    errors.CodecError,
    errors.InvalidMessage,
    errors.InvalidOutcome,
    errors.TimedOut,
    errors.SchemaOutdated,
    errors.SchemaNewer,
    errors.StoreRefused,
    errors.Conflict,
    errors.StoreUnavailable,
    DuerowError,
)
"""The errors that are made from a text, the most specific first."""

_BY_NAME: Final = {kind.__name__: kind for kind in (*_FIELDS, errors.QueryTimeout, *_OF_TEXT)}


def failure(error: DuerowError) -> dict[str, Any]:
    """Return the members from which an error can be recreated."""
    kind = next(one for one in _BY_NAME.values() if isinstance(error, one))
    members: dict[str, Any] = {ERROR: kind.__name__, DETAIL: str(error)}
    for name in _FIELDS.get(kind, ()):
        members[name] = getattr(error, name)
    if isinstance(error, errors.StoreUnavailable):
        members["outcome"] = error.outcome
    if isinstance(error, errors.QueryTimeout):
        members["limit_seconds"] = error.limit.total_seconds()
    if isinstance(error, errors.InvalidCondition):
        members["at"] = error.at
    if error.of_row:
        members["of_row"] = True
    return members


def failed(members: Any) -> DuerowError:
    """Return the error that the members describe; a plain DuerowError if this version does not know its class."""
    if not isinstance(members, Mapping):
        return DuerowError(f"the server answered with an error that cannot be read: {errors.shown(members)}")
    kind = _BY_NAME.get(str(members.get(ERROR)), DuerowError)
    text = str(members.get(DETAIL) or "the server gave no reason")
    try:
        return _made(kind, text, members)
    except (TypeError, ValueError, KeyError):
        return DuerowError(text)


def _made(kind: type[DuerowError], text: str, members: Mapping[str, Any]) -> DuerowError:
    outcome: Literal["none", "unknown"] = "unknown" if members.get("outcome") == "unknown" else "none"
    of_row = members.get("of_row") is True
    if kind is errors.LeaseLost:
        until = members.get("until")
        return errors.LeaseLost(int(members["message_id"]), None if until is None else datetime.fromisoformat(until))
    if kind in _FIELDS:
        return kind(*(members[name] for name in _FIELDS[kind]))
    if kind is errors.QueryTimeout:
        return errors.QueryTimeout(timedelta(seconds=members["limit_seconds"]))
    if kind is errors.Conflict:
        # The server has already retried the transaction.
        return errors.Conflict(text, outcome, waited=True, of_row=of_row)
    if kind is errors.StoreUnavailable:
        return errors.StoreUnavailable(text, outcome)
    if kind is errors.StoreRefused:
        return errors.StoreRefused(text, of_row=of_row)
    made = kind(text)
    if isinstance(made, errors.InvalidCondition):
        made.at = members.get("at")
    made.of_row = of_row
    return made
