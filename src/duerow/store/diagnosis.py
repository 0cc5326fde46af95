"""What a store can tell about its own health: findings, and the checks that make them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Final, Literal, Protocol, runtime_checkable

import msgspec

from duerow.plan import Plan

Severity = Literal["note", "warning", "error"]

SEVERITIES: Final[tuple[Severity, ...]] = ("note", "warning", "error")
"""From the least severe to the most."""


class Finding(msgspec.Struct, frozen=True):
    """One thing that a check found.

    Attributes:
        code: a word for programs; stable.
        severity: `error`: queues do not work, or lose promises; `warning`: they will be slow, late or stuck; `note`:
            worth knowing.
        what: what was found, in one sentence.
        where: the table, index, queue, setting or file that it is about.
        todo: what to do about it.
    """

    code: str
    severity: Severity
    what: str
    where: str
    todo: str

    def __str__(self) -> str:
        return f"{self.severity}: {self.where}: {self.what}. {self.todo} [{self.code}]"


Check = Callable[[timedelta], Plan[list[Finding]]]
"""Makes a plan that looks for one kind of trouble.

The argument is for how long something may last before it counts: a transaction, or a message that nobody takes.
"""


@runtime_checkable
class SelfChecking(Protocol):
    """An optional part of a store: checks that only its own family of databases has."""

    def checks(self) -> Mapping[str, Check]:
        """Return the checks by name."""
        ...
