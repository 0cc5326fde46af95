"""What this face is, for code that is the same on both."""

from typing import Final

AWAITED: Final = True
"""Whether handlers are awaited."""

NOT_A_QUEUE: Final = (
    "this Worker takes a queue of duerow.aio.connect(…), or a list of such, not {}; one of duerow has its own, "
    "duerow.Worker"
)
"""What a worker says about anything else than a queue of this face."""
