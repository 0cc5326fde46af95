"""What is said where a peer is not there."""

from __future__ import annotations


class PeerMissing(Exception):
    """A peer that was asked for cannot be measured; the message says what is missing and what brings it."""


HOW_TO_INSTALL = "`make bench ARGS=--peers` installs it"
