"""What this face is, for code that is the same on both."""

from typing import Final

AWAITED: Final = False
"""Whether handlers are awaited."""

NOT_A_QUEUE: Final = (
    "Worker takes a queue of duerow.connect(…), or a list of such, not {}; one of duerow.aio has its own, "
    "duerow.aio.Worker"
)
"""What a worker says about anything else than a queue of this face."""
