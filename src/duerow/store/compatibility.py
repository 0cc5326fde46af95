"""Which newer tables a version of duerow can work with, according to the stored names of their migrations.

A migration that only adds things that older code can ignore has a name such as `0009 notes [from 7]`: code that knows
migration 7 can use the tables alongside newer code. Without such a mark, older code refuses the tables.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

_OLDEST: Final = re.compile(r"\[from (?P<version>\d+)\]$")


def is_beyond(made: Mapping[int, str | None], known: int) -> bool:
    """Return whether a newer version made a migration that code with `known` migrations cannot work with.

    Args:
        made: the stored names of the applied migrations, by number.
        known: how many migrations the code knows.
    """
    return any(number > known and _oldest(number, name) > known for number, name in made.items())


def _oldest(number: int, name: str | None) -> int:
    """Return the number of migrations that code must know to work with tables after this one."""
    said = _OLDEST.search(name or "")
    return int(said["version"]) if said else number
