"""The names of the indexes on payload fields."""

from __future__ import annotations

import hashlib
import re
from typing import Final

from duerow.store import Indexed

LONGEST_SLUG: Final = 16

_HELD: Final = {"integer": "number", "float": "number", "text": "text", "boolean": "boolean"}
_ODD = re.compile("[^a-z0-9]+")


def names_begin(prefix: str, queue: str) -> str:
    """Return the common prefix of the names of all indexes on a queue's fields."""
    return f"{prefix}by_{_digest(queue)}_"


def index_name(prefix: str, queue: str, field: Indexed) -> str:
    """Return the name of a field's index; the name depends on everything that the index contains."""
    slug = _ODD.sub("_", "_".join(field.path).lower())[:LONGEST_SLUG]
    return f"{names_begin(prefix, queue)}{slug}_{_digest('.'.join(field.path), _HELD[field.kind])}"


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:6]
