"""The headers by which a message tells what it was made of, and how the next ones get theirs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from duerow.message import Scalar

PARENT: Final = "parent"
"""The id of the message that this one was made of; of one that was joined, the ids of up to NAMED_PARENTS parts."""

PARENTS: Final = "parents"
"""Of how many messages a joined one was made."""

SET: Final = "set"
"""The id of the message as which the parts of a joined one stood, in the queue of the join's sets."""

PART_OF: Final = "part-of"
"""In history, of a message that became a part: the id of the message of its set. So each part, of however many, is
found by one id, and no header grows with the set."""

OF_BATCH: Final = "batch"
"""Of a row of a staged result that names no parent: the claim of the batch that it was made of, which history has as
the worker of each of the batch's messages."""

NAMED_PARENTS: Final = 100


def made_of(id: int, headers: Mapping[str, Scalar]) -> dict[str, Scalar]:
    """Return the headers of a message that is made of another one: those of that one, which it names as its parent."""
    kept = {name: value for name, value in headers.items() if name not in (PARENTS, SET, OF_BATCH)}
    kept[PARENT] = id
    return kept


def joined(set_id: int, parts: Sequence[int]) -> dict[str, Scalar]:
    """Return the headers by which a message tells which set it was made of.

    Args:
        set_id: the id of the set's message.
        parts: the ids of its parts.
    """
    named = ",".join(str(id) for id in parts[:NAMED_PARENTS])
    return {PARENT: named, PARENTS: len(parts), SET: set_id}
