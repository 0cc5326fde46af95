"""The kinds of messages that a claim takes, as bound values."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence

from duerow.stores.sql.statements.due_rows import kinds_in


def padded(kinds: Collection[str]) -> tuple[str, ...]:
    """Return sorted kinds, with the last one repeated up to a count of 1, 2, 4, …, so a few statements suffice."""
    each = sorted(kinds)
    return (*each, *each[-1:] * ((1 << (len(each) - 1).bit_length()) - len(each)))


def of_kinds(kinds: Sequence[str]) -> dict[str, str]:
    """Return the bound values of a statement that reads these kinds."""
    return dict(zip(kinds_in(len(kinds)), kinds, strict=True))


def source_of(queue: str, kinds: Sequence[str]) -> Hashable:
    """Return what the floors of claims of these kinds are remembered by: the queue, or the queue and the kinds."""
    return (queue, kinds) if kinds else queue
