"""Refusals by the database that concern one message: only that message fails, and the others continue."""

from __future__ import annotations

from collections.abc import Sequence

from duerow.errors import DuerowError, StoreRefused
from duerow.store import ORDER_OF_EFFECT, Refused, Turn


def halves(turns: Sequence[Turn]) -> tuple[list[Turn], list[Turn]]:
    """Split turns into two parts that can be ended one after the other with the same result as together."""
    ordered = sorted(turns, key=_effect)
    middle = len(ordered) // 2
    return ordered[:middle], ordered[middle:]


def of_one(turn: Turn, error: DuerowError) -> Refused:
    """Return the refusal of a turn that cannot be ended even on its own, with the reason."""
    id = turn.receipt.id
    refused = StoreRefused(f"message {id} was not settled, and keeps its lease: {error}", of_row=True)
    refused.__cause__ = error
    return Refused(turn.receipt, refused)


def in_order(refused: Sequence[Refused], turns: Sequence[Turn]) -> list[Refused]:
    """Return the refusals in the order of the turns."""
    places = {turn.receipt: place for place, turn in enumerate(turns)}
    return sorted(refused, key=lambda one: places[one.receipt])


def _effect(turn: Turn) -> tuple[int, int]:
    return ORDER_OF_EFFECT.index(type(turn.end)), turn.receipt.id
