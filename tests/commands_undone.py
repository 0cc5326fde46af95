"""Commands that are run in the tests' own process, and not in one of theirs."""

import logging
import signal
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def commands_undone() -> Iterator[None]:
    """What commands set for good ends with the block: what SIGTERM does, and where the log goes."""
    root, on_end = logging.getLogger(), signal.getsignal(signal.SIGTERM)
    logged = [*root.handlers], root.level
    try:
        yield
    finally:
        if on_end is not None and signal.getsignal(signal.SIGTERM) is not on_end:
            signal.signal(signal.SIGTERM, on_end)
        if (root.handlers, root.level) != logged:
            root.handlers[:] = logged[0]
            root.setLevel(logged[1])
