"""The logic of queues that needs no database: edits, redrives, statistics, schedules, history.

`from duerow.queue import Stats` imports a type that methods of a queue return. The names are imported when they are
first used, since other modules of this package need none of them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from duerow.queue.edits import Changed
    from duerow.queue.history import Event
    from duerow.queue.redrive import Redriven
    from duerow.queue.stats import Reason, Stats

__all__ = ["Changed", "Event", "Reason", "Redriven", "Stats"]

_HOME_OF = {"Changed": "edits", "Event": "history", "Reason": "stats", "Redriven": "redrive", "Stats": "stats"}
"""The module of each name. Type checkers read the imports above instead; a test compares the two."""

if not TYPE_CHECKING:  # otherwise every name would seem to exist

    def __getattr__(name: str) -> Any:
        """Import the object with this name."""
        if name not in _HOME_OF:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        found = globals()[name] = getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
        return found

    def __dir__() -> list[str]:
        """Return all names, imported or not."""
        return sorted({*globals(), *__all__})
