"""`like` patterns as regular expressions, for stores without a LIKE operator."""

from __future__ import annotations

import re


def expression(pattern: str) -> str:
    """Return a regular expression that fully matches what a `like` pattern matches; `.` must match line breaks.

    The expression never tries the same text twice: it takes the first place where each part between two `%` matches,
    because a later place could not do better.
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
