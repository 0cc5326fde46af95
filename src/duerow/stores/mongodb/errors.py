"""Translates PyMongo's errors to duerow's by type, code and label, never by their text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final

from pymongo import errors as pymongo

from duerow.errors import (
    ConfigurationError,
    Conflict,
    DuerowError,
    NotSupported,
    QueryTimeout,
    StoreRefused,
    StoreUnavailable,
)

TRANSIENT: Final = "TransientTransactionError"
UNKNOWN_COMMIT: Final = "UnknownTransactionCommitResult"

_LOST_RACES: Final = {
    24,  # LockTimeout
    112,  # WriteConflict
    244,  # TransactionTooOld
    246,  # SnapshotUnavailable
    251,  # NoSuchTransaction
}
_NOT_NOW: Final = {
    6,  # HostUnreachable
    7,  # HostNotFound
    89,  # NetworkTimeout
    91,  # ShutdownInProgress
    189,  # PrimarySteppedDown
    262,  # ExceededTimeLimit
    9001,  # SocketException
    10107,  # NotWritablePrimary
    11600,  # InterruptedAtShutdown
    11602,  # InterruptedDueToReplStateChange
    13435,  # NotPrimaryNoSecondaryOk
    13436,  # NotPrimaryOrSecondary
}
_TIME_OVER: Final = 50
_OF_ROW: Final = {121, 10334, 17280, 17419, 17420}  # refused by a validator; a document or a key that is too large
_NO_TRANSACTIONS: Final = {20, 263}  # IllegalOperation: needs a replica set; OperationNotSupportedInTransaction
_NOT_DURABLE: Final = {64, 100}  # WriteConcernFailed, UnsatisfiableWriteConcern
_NAMES_ONLY: Final = _LOST_RACES | _NOT_NOW | _NO_TRANSACTIONS | _NOT_DURABLE | {_TIME_OVER, 18}
"""Errors whose text never contains a value from a document."""

_UNAUTHORIZED: Final = re.compile(r"not authorized on (\S+) to execute command \{ (\w+)")


def explained(error: BaseException, wrote: bool, inside: bool = False) -> DuerowError | None:
    """Return duerow's error for an error of the driver; None for any other error.

    Args:
        error: the error that was raised.
        wrote: whether the command may have changed something even though it got no answer.
        inside: whether the command ran in a transaction, which is rolled back.
    """
    if isinstance(error, DuerowError):
        return error
    if isinstance(error, pymongo.DocumentTooLarge):  # it is not a PyMongoError
        text = f"a MongoDB document has at most 16 MiB, and contains the payload twice: {error}"
        return StoreRefused(text, of_row=True)
    if not isinstance(error, pymongo.PyMongoError):
        return None
    if isinstance(error, pymongo.ServerSelectionTimeoutError):
        return StoreUnavailable(f"no MongoDB server can be reached: {error}")
    if error.has_error_label(TRANSIENT) and not isinstance(error, pymongo.ConnectionFailure):
        return Conflict(f"MongoDB ended this transaction in favor of another one: {_told(error)}")
    if isinstance(error, pymongo.ConnectionFailure | pymongo.WaitQueueTimeoutError):
        unsure = wrote and not inside and not isinstance(error, pymongo.WaitQueueTimeoutError)
        return StoreUnavailable(f"the connection to MongoDB broke: {error}", "unknown" if unsure else "none")
    if isinstance(error, pymongo.OperationFailure):
        return _refusal(error, wrote and not inside)
    if isinstance(error, pymongo.ConfigurationError | pymongo.InvalidURI):
        return ConfigurationError(f"MongoDB's driver cannot work this way: {error}")
    if isinstance(error, pymongo.InvalidOperation):
        return StoreUnavailable(f"MongoDB's client was closed, or its session ended: {error}")
    return StoreRefused(f"MongoDB's driver refused one of duerow's commands: {error}")


def overran(error: BaseException, limit: timedelta | None) -> DuerowError | None:
    """Return the error of a read for people that exceeded its time limit; None for any other error."""
    if limit is None or not isinstance(error, pymongo.OperationFailure) or error.code != _TIME_OVER:
        return None
    return QueryTimeout(limit)


def check_reply(reply: Mapping[str, Any], taken: bool) -> None:
    """Raise errors that a successful reply contains and the driver ignores: refused writes and missing durability.

    Args:
        reply: the answer.
        taken: whether a taken key is a valid answer rather than an error.
    """
    for failed in reply.get("writeErrors", ()):
        if failed["code"] != 11000:
            raise pymongo.OperationFailure(failed.get("errmsg", "a write was refused"), failed["code"], failed)
        if not taken:
            raise Conflict("another client wrote the same key at the same moment")
    if "writeConcernError" in reply:
        missed = reply["writeConcernError"]
        raise StoreUnavailable(f"MongoDB wrote, but not to a majority: {missed.get('errmsg')}", "unknown")


def _refusal(error: pymongo.OperationFailure, unsure: bool) -> DuerowError:
    code, said = error.code or 0, _told(error)
    if code in _LOST_RACES:
        return Conflict(f"MongoDB ended this transaction in favor of another one: {said}")
    if code == 11000:
        return Conflict(f"another client wrote the same key at the same moment: {said}")
    if code == _TIME_OVER:
        return Conflict(f"MongoDB's lock timeout ended while it waited for another transaction: {said}", waited=True)
    if code in _NOT_NOW:
        return StoreUnavailable(f"the MongoDB server is not available: {said}", "unknown" if unsure else "none")
    if code in _NOT_DURABLE:
        return StoreUnavailable(f"MongoDB wrote, but not to a majority: {said}", "unknown")
    if code in _NO_TRANSACTIONS:
        return NotSupported(f"this MongoDB server has no transactions: {said}")
    if code == 18:
        return ConfigurationError(f"MongoDB refused this user: {said}")
    if code == 13:
        return StoreRefused(
            f"this MongoDB user lacks a privilege: {said}. duerow needs readWrite on its database, and createIndex "
            "and createCollection there to migrate"
        )
    return StoreRefused(f"MongoDB refused one of duerow's commands (code {code}): {said}", of_row=code in _OF_ROW)


def _told(error: pymongo.PyMongoError) -> str:
    """Return an error's text if it contains only names; other errors may quote an entire command."""
    if not isinstance(error, pymongo.OperationFailure):
        return str(error)
    details: Mapping[str, Any] = error.details or {}
    name = str(details.get("codeName") or f"code {error.code}")
    if error.code in _NAMES_ONLY:
        return f"{name}, {details.get('errmsg', error)}"
    if fields := details.get("keyPattern"):
        return f"{name}, of {', '.join(map(str, fields))}"
    refused = _UNAUTHORIZED.match(str(details.get("errmsg", "")))
    return f"{name}, to {refused[2]} in {refused[1]}" if refused else name
