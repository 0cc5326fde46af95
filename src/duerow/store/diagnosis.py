"""What a store can report about its own health: findings, and the checks that produce them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Final, Literal, Protocol, runtime_checkable

import msgspec

from duerow.plan import Plan

Severity = Literal["note", "warning", "error"]

SEVERITIES: Final[tuple[Severity, ...]] = ("note", "warning", "error")
"""The severities, from least to most severe."""


class Finding(msgspec.Struct, frozen=True):
    """A result of a check.

    Attributes:
        code: a stable identifier for programs.
        severity: `error`: queues do not work, or lose promises; `warning`: they will be slow, late or stuck; `note`:
            worth knowing.
        what: what was found, in one sentence.
        where: the table, index, queue, setting or file concerned.
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
"""Makes a plan that looks for one kind of problem.

The argument is how long something, such as a transaction or an untaken message, may last before it is reported.
"""


@runtime_checkable
class SelfChecking(Protocol):
    """An optional part of a store: checks that only its own family of databases has."""

    def checks(self) -> Mapping[str, Check]:
        """Return the checks by name."""
        ...
