"""What the users of a Django project may do with queues: their permissions, as roles of the dashboard."""

from __future__ import annotations

from typing import Any, Final

VIEW: Final = "duerow.view_queues"
OPERATE: Final = "duerow.operate_queues"


def role_of(user: Any) -> str | None:
    """Return the role of a user: operator or viewer; None if the user may not see the queues."""
    if user is None or not user.is_active:
        return None
    if user.has_perm(OPERATE):
        return "operator"
    return "viewer" if user.has_perm(VIEW) else None
