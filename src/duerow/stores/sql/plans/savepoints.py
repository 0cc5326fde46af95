"""Take rows one by one where the database refuses to have one of them changed, and set that one aside."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any, Final

from duerow.errors import Conflict, DuerowError
from duerow.message import Failure
from duerow.payload.codec import encode_failure
from duerow.plan import Plan
from duerow.store import GivenUp
from duerow.stores.sql.plans.claim import Claim
from duerow.stores.sql.plans.settle import SettlePlans
from duerow.stores.sql.refused_rows import PASSED_OVER_FOR
from duerow.stores.sql.statements import Step

LOG: Final = logging.getLogger("duerow.store")


class SavepointPlans(SettlePlans):
    """Plans that go on without a row that the database lets nobody change."""

    races_for_keys = True
    """Whether a duplicate key may come of a race: of a group two consumers may try to lend one at the same time."""

    def _apart(self, taking: Claim, ids: Sequence[Any], act: Callable[[Sequence[Any]], Plan[None]]) -> Plan[None]:
        """Do something with rows of a claim; if the claim is apart, what is refused is found, and set aside."""
        if not taking.apart:
            yield from act(ids)
            return
        mark = taking.mark()
        yield Step(self.statements.savepoint, {})
        try:
            yield from act(ids)
            if self.statements.check_constraints is not None:
                yield Step(self.statements.check_constraints, {})
        except DuerowError as error:
            if not error.of_row:
                raise
            taking.back(mark)
            yield Step(self.statements.to_savepoint, {})
            if len(ids) == 1:
                yield from self._set_aside(taking, ids[0], error)
                return
            middle = len(ids) // 2
            yield from self._apart(taking, ids[:middle], act)
            yield from self._apart(taking, ids[middle:], act)

    def _set_aside(self, taking: Claim, id: Any, refused: DuerowError) -> Plan[None]:
        """Bury a row with the reason, without history and dead-letter queue; or pass it over, if not even that goes."""
        taking.passed.add(id)
        if isinstance(refused, Conflict) and self.races_for_keys:
            return  # another consumer was faster; nothing is amiss with the row
        error = encode_failure(Failure("StoreRefused", f"it could not be handed out: {refused}"))
        yield Step(self.statements.savepoint, {})
        try:
            rows = yield self._given(self.statements.set_aside, ("id", "error"), [(id, error)])
        except DuerowError as again:
            if not again.of_row:
                raise
            yield Step(self.statements.to_savepoint, {})
            self.refusals.add(taking.queue, id)
            text = "message %s of %s can neither be handed out nor be buried, and is passed over for %d seconds: %s"
            LOG.error(text, id, taking.queue, PASSED_OVER_FOR, again)
            return
        taking.given += [GivenUp(row[0], row[-3], row[-2], error) for row in rows]
        yield from self._promote_next((taking.queue, row[-1]) for row in rows if row[-1] is not None)
