"""A type that both databases of a test declare."""

from dataclasses import dataclass


@dataclass
class Reading:
    """What a pump says."""

    pump: int
    bar: float
