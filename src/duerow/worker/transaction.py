"""Handlers that write in the transaction that ends their message's turn: when their writes are kept."""

from __future__ import annotations

from duerow.errors import TransactionEnded
from duerow.message import Message
from duerow.settlement import Bury, Commit, Left, Move, Settlement


def keeps(settlement: Settlement) -> bool:
    """Return whether the writes of a handler are kept: yes if its message is done or moves on, no if it failed."""
    return isinstance(settlement, Commit | Move | Left)


def committed_by_hand(message: Message) -> Bury:
    """Return the end of a turn whose handler may have committed: with another attempt it could write twice."""
    return Bury(
        TransactionEnded(
            f"message {message.id}: its handler committed the transaction that it was given, so its writes may be "
            "stored without the settlement; the message is not tried again. Let the worker commit the transaction"
        )
    )


def rolled_back_by_hand(message: Message) -> TransactionEnded:
    """Return the error of an attempt whose handler rolled back its own transaction and then returned normally."""
    return TransactionEnded(
        f"message {message.id}: its handler rolled back the transaction that it was given; raise an exception instead, "
        "or undo a part with connection.begin_nested()"
    )
