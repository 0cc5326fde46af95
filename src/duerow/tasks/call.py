"""A call to a task: its name, and the arguments that were given."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

import msgspec
from msgspec import UNSET

from duerow.errors import ConfigurationError, shown
from duerow.message import OnDuplicate, Scalar, check_due, check_on_duplicate, check_priority


class TaskCall(msgspec.Struct, frozen=True):
    """The payload of a task's message, as middleware sees it.

    Attributes:
        task: the task's name.
        arguments: the arguments by parameter name, without those left at their defaults.
    """

    task: str
    arguments: Mapping[str, Any]


class PushOptions(msgspec.Struct, frozen=True):
    """How a call is pushed; for options that are UNSET, the task's own settings apply.

    Attributes:
        key: a key that is unique among the live messages of the queue; None: no key.
        due: the earliest time to run it.
        delay: how long from now until it is due.
        headers: named scalars that travel with it.
        group: calls in the same group run one at a time, in order.
        priority: lower numbers go first.
        on_duplicate: what to do if a live message has the same key.
        within: the caller's open transaction.
    """

    key: Any = UNSET
    due: datetime | None = None
    delay: timedelta | None = None
    headers: Mapping[str, Scalar] | None = None
    group: Any = UNSET
    priority: Any = UNSET
    on_duplicate: OnDuplicate = "ignore"
    within: Any = None

    def but(self, **changes: Any) -> PushOptions:
        """Return the same options with changes; raise an error if one of them is not valid."""
        if unknown := changes.keys() - set(self.__struct_fields__):
            raise ConfigurationError(
                f"a task cannot be pushed with {shown(sorted(unknown)[0])}; the options are "
                f"{', '.join(self.__struct_fields__)}"
            )
        if "due" in changes or "delay" in changes:
            changes = {"due": None, "delay": None, **changes}
        changed = msgspec.structs.replace(self, **changes)
        check_due(changed.due, changed.delay)
        check_on_duplicate(changed.on_duplicate)
        if changed.priority is not UNSET:
            check_priority(changed.priority)
        return changed
