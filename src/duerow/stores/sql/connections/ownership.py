"""Who owns a connection, which matters for steps with several statements."""

from __future__ import annotations

from typing import Literal

Whose = Literal["own", "lent", "joined"]
"""A connection of duerow's own engine, one of the user's engine, or the caller's transaction."""
