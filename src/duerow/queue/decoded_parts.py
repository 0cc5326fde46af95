"""The parts of sets as messages, for predicates: each part is decoded once, not again whenever another joins."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import Final
from weakref import WeakKeyDictionary

from duerow.message import Message
from duerow.payload.encoding import PayloadReader
from duerow.store.join_sets import as_message

MOST: Final = 32 << 20
"""How many characters of parts are kept for a queue; the sets that no part has joined for longest are dropped first."""

SetPlace = tuple[str, str]
"""The queue of a set and its correlation."""


class DecodedParts:
    """Keeps decoded parts of sets by their text, so that its results never depend on what it has kept.

    Args:
        most: how many characters of text to keep.
    """

    def __init__(self, most: int = MOST) -> None:
        self._most, self._size = most, 0
        self._sets: OrderedDict[SetPlace, dict[str, Message]] = OrderedDict()
        self._using = threading.Lock()

    def messages(self, place: SetPlace, texts: Sequence[str], reader: PayloadReader) -> list[Message]:
        """Return the parts of a set in the order of their texts.

        Raises:
            CodecError: a part cannot be read.
        """
        with self._using:
            known = self._sets.setdefault(place, {})
            self._sets.move_to_end(place)
            for text in texts:
                if text not in known:
                    known[text] = as_message(text, reader)
                    self._size += len(text)
            messages = [known[text] for text in texts]
            while self._size > self._most and self._sets:
                self._forget(next(iter(self._sets)))
            return messages

    def forget(self, place: SetPlace) -> None:
        """Drop the parts of a set that is complete."""
        with self._using:
            self._forget(place)

    def _forget(self, place: SetPlace) -> None:
        self._size -= sum(map(len, self._sets.pop(place, ())))


_OF_QUEUES: Final[WeakKeyDictionary[PayloadReader, DecodedParts]] = WeakKeyDictionary()


def decoded_parts(reader: PayloadReader) -> DecodedParts:
    """Return the decoded parts of the sets that messages of a queue join; they are dropped together with its handle."""
    return _OF_QUEUES.setdefault(reader, DecodedParts())
