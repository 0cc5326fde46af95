"""What distinguishes this face, for code that both faces share."""

from typing import Final

AWAITED: Final = True
"""Whether handlers are awaited."""

NOT_A_QUEUE: Final = (
    "this Worker takes a queue of duerow.aio.connect(…), or a list of such queues, not {}; for queues of "
    "duerow.connect(…) use duerow.Worker"
)
"""The error for anything other than a queue of this face."""
