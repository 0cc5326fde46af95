"""`like` patterns as regular expressions, for stores that have no LIKE of their own."""

from __future__ import annotations

import re


def expression(pattern: str) -> str:
    """Return a regular expression for what a `like` pattern matches as a whole, where `.` matches line breaks too.

    It never tries a part of the text twice: each part between two `%` is looked for once, at its first place, since no
    later place could do better.
    """
    parts: list[list[str]] = [[]]
    characters = iter(pattern)
    for character in characters:
        if character == "%":
            parts.append([])
        elif character == "_":
            parts[-1].append(".")
        else:
            parts[-1].append(re.escape(next(characters) if character == "\\" else character))
    first, *others = ("".join(part) for part in parts)
    if not others:
        return first
    *middle, last = others
    sought = "".join(f"(?>.*?{part})" for part in middle if part)
    return f"{first}{sought}.*{last}"
