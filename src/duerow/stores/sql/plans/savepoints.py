"""If the database refuses to change a row, find that row, set it aside, and continue with the others."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any, Final

from duerow.errors import Conflict, DuerowError
from duerow.message import Failure
from duerow.payload.codec import encode_failure
from duerow.plan import Plan
from duerow.store import GivenUp
from duerow.stores.sql.plans.claim_progress import Claim
from duerow.stores.sql.plans.context import Context, Plans
from duerow.stores.sql.plans.promote import PromotePlans
from duerow.stores.sql.refused_rows import PASSED_OVER_FOR
from duerow.stores.sql.statements import Step

LOG: Final = logging.getLogger("duerow.store")


class SavepointPlans(Plans):
    """Plans that continue without a row that the database refuses to change.

    Args:
        context: shared by all plans of the store.
        promote: puts the next message of a group in line, and wakes consumers.
        races_for_keys: whether a race can cause a duplicate key: two consumers may try to lease messages of the same
            group.
    """

    def __init__(self, context: Context, promote: PromotePlans, races_for_keys: bool = True) -> None:
        super().__init__(context)
        self._promote, self._races_for_keys = promote, races_for_keys

    def apart(self, claim: Claim, ids: Sequence[Any], act: Callable[[Sequence[Any]], Plan[None]]) -> Plan[None]:
        """Run `act` on rows of a claim; if the claim is `apart`, find the refused rows and set them aside."""
        statements = self.context.statements
        if not claim.apart:
            yield from act(ids)
            return
        mark = claim.mark()
        yield Step(statements.savepoints.savepoint, {})
        try:
            yield from act(ids)
            if statements.savepoints.check_constraints is not None:
                yield Step(statements.savepoints.check_constraints, {})
        except DuerowError as error:
            if not error.of_row:
                raise
            claim.back(mark)
            yield Step(statements.savepoints.to_savepoint, {})
            if len(ids) == 1:
                yield from self._set_aside(claim, ids[0], error)
                return
            middle = len(ids) // 2
            yield from self.apart(claim, ids[:middle], act)
            yield from self.apart(claim, ids[middle:], act)

    def _set_aside(self, claim: Claim, id: Any, refused: DuerowError) -> Plan[None]:
        """Bury a row with the reason, bypassing history and the dead-letter queue; if that fails too, skip the row."""
        context = self.context
        statements = context.statements
        claim.passed.add(id)
        if isinstance(refused, Conflict) and self._races_for_keys:
            return  # another consumer was faster; there is nothing wrong with the row
        error = encode_failure(Failure("StoreRefused", f"it could not be handed out: {refused}"))
        yield Step(statements.savepoints.savepoint, {})
        try:
            rows = yield context.given(statements.savepoints.set_aside, ("id", "error"), [(id, error)])
        except DuerowError as again:
            if not again.of_row:
                raise
            yield Step(statements.savepoints.to_savepoint, {})
            context.refusals.add(claim.queue, id)
            text = "message %s of %s can be neither handed out nor buried; skipping it for %d seconds: %s"
            named = {"event": "skipped", "queue": claim.queue, "message_id": id}
            LOG.error(text, id, claim.queue, PASSED_OVER_FOR, again, extra=named)
            return
        claim.given += [GivenUp(row[0], row[-3], row[-2], error) for row in rows]
        yield from self._promote.promote_next((claim.queue, row[-1]) for row in rows if row[-1] is not None)
