"""Errors for operations that are impossible over HTTP."""

from __future__ import annotations

from typing import Any, NoReturn

from duerow.errors import NotSupported, shown


def refuse_to_join(within: Any) -> NoReturn:
    """Raise the error for an operation in the caller's transaction."""
    raise NotSupported(
        f"within={shown(within)}: queues behind an HTTP API cannot join your transaction; connect to the "
        "database itself, or leave it out"
    )


def refuse_to_begin() -> NoReturn:
    """Raise the error for a handler that wants to write in a transaction."""
    raise NotSupported(
        "over HTTP, a handler cannot write in the transaction that settles its message; connect to the database itself"
    )


def refuse_transaction() -> NoReturn:
    """Raise the error for several operations in one transaction."""
    raise NotSupported(
        "over HTTP each operation is a separate transaction, so several of them cannot share one; connect to the "
        "database itself"
    )
