# Generated from ../aio/transfer.py by tools/generate_sync.py; edit that file instead.
"""Move messages that nobody is working on to another queue."""

from __future__ import annotations

from duerow.conditions.model import Condition
from duerow.errors import NotSupported
from duerow.message import OnDuplicate, check_on_duplicate
from duerow.phrases import Argument
from duerow.queue import edits
from duerow.queue.edits import Changed, EditBatch
from duerow.queue.transfer import Transfer, check_target
from duerow.sync.handle import P, QueueHandle


class Transfers(QueueHandle[P]):
    """The part of a queue with which operators send messages elsewhere; see `Queue`."""

    def transfer(
        self,
        id: int | None = None,
        *,
        key: str | None = None,
        where: str | Condition | None = None,
        to: str,
        on_duplicate: OnDuplicate = "reject",
        dry_run: bool = False,
        even_if_leased: bool = False,
    ) -> Changed:
        """Move messages to another queue of the database, as an operator (a consumer uses `move`, which ends its turn).

        Each keeps its id, key, group, priority, headers and due time, and is new there: no attempts, no error. A dead
        message, or one that is taken from its consumer, is due at once; a stopped one stays stopped. The transfer works
        in batches, one transaction per batch; messages pushed in the meantime stay.

        Args:
            id: the message with this id.
            key: the live message with this key.
            where: all messages that meet this condition.
            to: the queue to move them to.
            on_duplicate: what to do if a live message in the target queue has the key. "reject" leaves the message
                where it is; the other modes work as in `move`.
            dry_run: change nothing, only return how many would be moved.
            even_if_leased: include messages that a consumer is working on: its settlement will be refused.

        Raises:
            MessageLeased: a consumer is working on the message given by id or key; `where` skips such messages.
            DuplicateKey: a live message in the target queue has the key of the message given by id or key; `where`
                skips such messages.
            InvalidMessage: `to` is not a valid queue name.
            InvalidCondition: the condition cannot be parsed.
            ConfigurationError: not exactly one of id, key and where was given, or `to` is the queue that the messages
                are already in.
            NotSupported: `on_duplicate` would change two messages together, which the store cannot do.
        """
        target, mode = check_target(self.name, to), check_on_duplicate(on_duplicate)
        if mode in ("replace", "earliest") and not self._store.capabilities.transactions:
            raise NotSupported(
                f"a transfer with {mode!r} changes two messages together, which this store cannot do; pass ",
                Argument("on_duplicate", "reject"),
                " or 'ignore'",
            )
        chosen = edits.choice(self.name, id, key, where, even_if_leased, self.indexed)
        transfer = Transfer(chosen, target, mode, self._payloads, self.keeping)
        done: EditBatch = self.database.run(lambda: transfer.batch(self._store, None, dry_run))
        changed = done.changed
        while done.last is not None:
            done = self.database.run(lambda last=done: transfer.batch(self._store, last, dry_run))  # type: ignore[misc]
            changed += done.changed
        return changed
