"""The headers that tell which messages a message was made from, and how new messages get them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from duerow.message import Scalar

PARENT: Final = "parent"
"""The id of the message that this one was made from; for a joined message, the ids of up to NAMED_PARENTS parts."""

PARENTS: Final = "parents"
"""How many messages a joined message was made from."""

SET: Final = "set"
"""The id of the message that held the parts of a joined message, in the queue of the join's sets."""

PART_OF: Final = "part-of"
"""In history, for a message that became a part: the id of its set's message. So one id finds every part, however many
there are, and no header grows with the set."""

OF_BATCH: Final = "batch"
"""For a row of a staged result that names no parent: the claim of the batch that it was made from, which history
records as the worker of each message in the batch."""

CROSSING: Final = "crossing"
"""The unique name that a message gets when it is sent to another database."""

CAME_AS: Final = "came-as"
"""That name in a message that came from another database; the message is found by it on both sides."""

CAME_FROM: Final = "came-from"
"""Where the message waited in the other database: its queue and id there, such as `readings/17`."""

NAMED_PARENTS: Final = 100


def made_of(id: int, headers: Mapping[str, Scalar]) -> dict[str, Scalar]:
    """Return the headers of a message that is made from another one: the other's headers, plus its id as the parent."""
    kept = {name: value for name, value in headers.items() if name not in (PARENTS, SET, OF_BATCH)}
    kept[PARENT] = id
    return kept


def crossed(name: str, queue: str, id: int, headers: Mapping[str, Scalar]) -> dict[str, Scalar]:
    """Return the headers of a message in another database, where the ids in its lineage mean nothing.

    Args:
        name: the unique name under which it arrives.
        queue: where it waited in its own database.
        id: its id there.
        headers: its headers there.
    """
    kept = {name: value for name, value in headers.items() if name not in (CROSSING, PARENT, PARENTS, SET, OF_BATCH)}
    return {**kept, CAME_AS: name, CAME_FROM: f"{queue}/{id}"}


def joined(set_id: int, parts: Sequence[int]) -> dict[str, Scalar]:
    """Return the headers that tell which set a message was made from.

    Args:
        set_id: the id of the set's message.
        parts: the ids of its parts.
    """
    named = ",".join(str(id) for id in parts[:NAMED_PARENTS])
    return {PARENT: named, PARENTS: len(parts), SET: set_id}
