"""A fresh database for each run of a contestant, without making its schema each time."""

from __future__ import annotations

from bench.databases import Server, settle_down
from bench.peers import load


class Templates:
    """Databases of one server, copied from one with the schema of each contestant."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._made: set[str] = set()

    def fresh(self, name: str) -> str:
        """Return the URL of a copy of the contestant's template, which the first call makes."""
        template, copy = f"peer_{name}_template", f"peer_{name}"
        if name not in self._made:
            load(name).set_up(self._server.database(template))
            self._made.add(name)
        return self._server.database(copy, template)

    def settle_down(self, url: str) -> None:
        """Vacuum, analyze and checkpoint."""
        settle_down(url)
