"""What a store can do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, get_args

Part = Literal["operations", "history", "metadata", "counters", "bulk", "schema"]
"""A part of the contract that a store may lack. Every store has `messages`."""

PARTS: Final[frozenset[Part]] = frozenset(get_args(Part))
"""All parts of the contract except `messages`."""


@dataclass(frozen=True)
class Capabilities:
    """What a store can do beyond the basics; use of a missing feature raises NotSupported before anything changes.

    Attributes:
        transactions: several messages change together or not at all (`commit(then=…)`, lists of moves).
        within: a push, pop or settlement can join the caller's own transaction.
        processes: several processes can use the store.
        hosts: those processes may run on different hosts.
        parallel_writes: several transactions can write at the same time; otherwise transactional handlers run one at a
            time.
        wakes_consumers: a push wakes an idle consumer; otherwise consumers poll every second.
        receives: messages from another database can arrive unchanged (`receive`).
        passes_over: a pop skips messages that another transaction holds, or waits for them; otherwise the later of the
            two transactions fails, so a pop outside the caller's transaction is a reservation that is committed at
            once.
        interactive: a transaction can wait for the program: several operations in one, or a function that decides in it
            (`Join(complete=…)`). Otherwise each operation is a separate transaction: a message that was read may change
            before the program changes it, and is then left alone, because its token has changed too.
        parts: the parts of the contract that it has in addition to `messages`.
    """

    transactions: bool = True
    within: bool = True
    processes: bool = True
    hosts: bool = True
    parallel_writes: bool = True
    wakes_consumers: bool = True
    receives: bool = False
    passes_over: bool = True
    interactive: bool = True
    parts: frozenset[Part] = PARTS

    @property
    def together(self) -> bool:
        """Whether several operations can be one transaction."""
        return self.transactions and self.interactive
