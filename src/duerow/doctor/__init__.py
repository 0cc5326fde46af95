"""Checks for problems that occur in practice; each finding says what to do. `duerow doctor` prints the findings."""

from __future__ import annotations

from duerow.doctor.examination import aexamine, examine
from duerow.store import SEVERITIES, Finding

__all__ = ["SEVERITIES", "Finding", "aexamine", "examine"]
