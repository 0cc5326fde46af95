"""The in-memory store, for URLs that begin with memory://.

`memory://` opens a new database each time. All callers in this process that open `memory://name` with the same prefix
and schema share one database, which lasts as long as the process. `?transactions=off` forbids changing several messages
together.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import parse_qsl

from duerow.clock import HostClock
from duerow.errors import ConfigurationError, shown
from duerow.store import Settings
from duerow.store.backends import split
from duerow.stores.memory.connections import AsyncMemoryConnections, Memory, MemoryConnections
from duerow.stores.memory.store import MemoryStore

_SWITCH: Final = {"on": True, "off": False}


class MemoryBackend:
    """Opens in-memory databases, and keeps those that have a name."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._named: dict[tuple[str, str, str | None], Memory] = {}

    def open(self, target: Any, settings: Settings) -> tuple[MemoryStore, MemoryConnections]:
        """Open for blocking calls; see `Backend.open`."""
        memory, transactions = self._find(target, settings)
        clock = settings.clock or HostClock()
        return MemoryStore(transactions), MemoryConnections(memory, clock, transactions, settings.read_timeout)

    def aopen(self, target: Any, settings: Settings) -> tuple[MemoryStore, AsyncMemoryConnections]:
        """Open for async calls; see `Backend.aopen`."""
        memory, transactions = self._find(target, settings)
        clock = settings.clock or HostClock()
        return MemoryStore(transactions), AsyncMemoryConnections(memory, clock, transactions, settings.read_timeout)

    def forget(self, name: str) -> None:
        """Forget the database with this name: opening it again gives an empty one; open handles keep the old one."""
        with self._lock:
            for found in [found for found in self._named if found[0] == name]:
                del self._named[found]

    def _find(self, target: Any, settings: Settings) -> tuple[Memory, bool]:
        if not isinstance(target, str):
            raise ConfigurationError(f"the in-memory store is opened with a URL, not with {type(target).__name__}")
        url = split(target)
        transactions = _transactions({**dict(parse_qsl(url.query, keep_blank_values=True)), **settings.options})
        name = url.netloc + url.path
        if not name:
            return Memory(), transactions
        with self._lock:
            return self._named.setdefault((name, settings.prefix, settings.schema), Memory()), transactions


def _transactions(options: Mapping[str, Any]) -> bool:
    """Return whether several messages may change together; raise ConfigurationError for unknown options."""
    unknown = sorted(options.keys() - {"transactions"})
    if unknown:
        raise ConfigurationError(
            f"memory:// has no option {shown(unknown[0])}; it takes transactions=on and transactions=off"
        )
    chosen = options.get("transactions", "on")
    if not isinstance(chosen, str) or chosen not in _SWITCH:
        raise ConfigurationError(f"transactions= must be 'on' or 'off', not {shown(chosen)}")
    return _SWITCH[chosen]


memory: Final = MemoryBackend()
"""The entry point of memory:// in the group `duerow.stores`."""
