"""What distinguishes this face, for code that both faces share."""

from typing import Final

AWAITED: Final = False
"""Whether handlers are awaited."""

NOT_A_QUEUE: Final = (
    "Worker takes a queue of duerow.connect(…), or a list of such queues, not {}; for queues of "
    "duerow.aio.connect(…) use duerow.aio.Worker"
)
"""The error for anything other than a queue of this face."""
