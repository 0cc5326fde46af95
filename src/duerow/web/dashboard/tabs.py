"""The tabs of a list of messages: each shows the messages in one state."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from duerow.conditions.model import Condition
from duerow.message import LIVE
from duerow.where import field

TABS: Final = {
    "all": "All",
    "ready": "Ready",
    "delayed": "Delayed",
    "leased": "In progress",
    "error": "Failed",
    "stopped": "Stopped",
    "dead": "Dead",
}


def of_tab(tab: str, now: datetime) -> Condition:
    """Return the condition of a tab."""
    status, due = field("status"), field("due_at")
    match tab:
        case "ready":
            return status.in_(LIVE) & (due <= now)
        case "delayed":
            return status.in_(LIVE) & (due > now) & field("leased_until").is_null()
        case "leased":
            # A leased message is due when its lease ends, and an index finds due times.
            return (field("leased_until") > now) & (due > now)
        case "stopped":
            return status.in_(LIVE) & due.is_null()
        case _:
            return status == tab
