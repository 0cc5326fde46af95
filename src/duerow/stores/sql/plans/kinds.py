"""The kinds of messages that a claim is about, as bound values."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from duerow.stores.sql.statements.due_rows import kinds_in


def padded(kinds: Collection[str]) -> tuple[str, ...]:
    """Return kinds in their order, the last one again and again until they are 1, 2, 4, …: so few statements do."""
    each = sorted(kinds)
    return (*each, *each[-1:] * ((1 << (len(each) - 1).bit_length()) - len(each)))


def of_kinds(kinds: Sequence[str]) -> dict[str, str]:
    """Return the bound values of a statement that looks at these kinds."""
    return dict(zip(kinds_in(len(kinds)), kinds, strict=True))
