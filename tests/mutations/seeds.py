"""The mutations: in which function of which file one piece of text becomes another."""

import ast
from dataclasses import dataclass
from pathlib import Path

STATEMENT_CONTEXT = "stores/sql/statements/context.py"
PUSHING = "stores/sql/statements/push.py"
RESERVE = "stores/sql/statements/reserve.py"
DUE_ROWS = "stores/sql/statements/due_rows.py"
LEND = "stores/sql/statements/lend.py"
GROUPS = "stores/sql/statements/groups.py"
SETTLING = "stores/sql/statements/settle.py"
SCHEDULING = "stores/sql/statements/schedules.py"
RECALLING = "stores/sql/statements/history.py"
REMEMBERING = "stores/sql/plans/history.py"
STEPS = "stores/memory/steps.py"
RECORDS = "stores/records.py"
PAST = "stores/memory/history.py"
STATE = "stores/memory/state.py"
TURNS = "stores/memory/settle.py"
LINES = "stores/sql/priorities.py"
PROMOTING = "stores/sql/plans/promote.py"
SCHEDULES = "stores/memory/schedules.py"
QUEUES = "stores/sql/statements/queues.py"
ENDING = "stores/sql/plans/settle.py"
CONDITIONS = "stores/sql/conditions.py"
JOINING = "stores/sql/plans/join.py"
SETS = "stores/join_sets.py"
JOIN_SETS = "store/join_sets.py"
FLOOR = "stores/sql/claim_floor.py"
CLAIMS = "stores/sql/plans/claim.py"
DIALECT = "stores/sql/dialects/postgresql/dialect.py"
ARRAY_VALUES = "stores/sql/dialects/postgresql/array_values.py"
JSON_PATHS = "stores/sql/dialects/postgresql/json_paths.py"
EXPRESSIONS = "stores/sql/dialects/base/expressions.py"
STAGING = "stores/sql/statements/stage.py"
PUBLISHING = "stores/sql/plans/stage.py"


@dataclass(frozen=True)
class Mutation:
    """One mistake.

    Attributes:
        says: the mistake, in words.
        file: below src/duerow.
        function: where it is made.
        right, wrong: the text of the function that becomes another.
    """

    says: str
    file: str
    function: str
    right: str
    wrong: str

    def applied(self, source: str) -> str:
        """Return the file's source with the mistake; ValueError unless the text is there exactly once."""
        lines = source.splitlines(keepends=True)
        found = [node for node in ast.walk(ast.parse(source)) if getattr(node, "name", None) == self.function]
        if len(found) != 1 or not isinstance(found[0], ast.FunctionDef):
            raise ValueError(f"{self.file} has not one function {self.function}: {self.says!r} must be seeded anew")
        start, end = found[0].lineno - 1, found[0].end_lineno
        text = "".join(lines[start:end])
        if text.count(self.right) != 1:
            raise ValueError(f"{self.function} in {self.file} has not one {self.right!r}: {self.says!r} is out of date")
        mutated = "".join(lines[:start]) + text.replace(self.right, self.wrong) + "".join(lines[end:])
        compile(mutated, self.file, "exec")
        return mutated

    def apply(self, package: Path) -> None:
        """Make the mistake in a copy of the package."""
        file = package / self.file
        file.write_text(self.applied(file.read_text()))


SQL = [
    Mutation("a queue of which something was said takes no messages", QUEUES, "draining", ", columns.draining)", ")"),
    Mutation("a drained queue refuses what a settlement pushes",
        ENDING, "settle", "self._push.add(", "self._push.push(",
    ),
    Mutation(
        "an index is asked for less than the range",
        CONDITIONS, "_near", 'inf if operator in ("<", "<=") else -inf', '-inf if operator in ("<", "<=") else inf',
    ),
    Mutation("the token of a turn is not tested", STATEMENT_CONTEXT, "held_by", ", self.same_token(given)", ""),
    Mutation(
        "the newest due message comes first",
        DUE_ROWS, "_first_due", "(columns.due_at, ", "(columns.due_at.desc(), ",
    ),
    Mutation("attempts are not counted", DUE_ROWS, "_lend", "else_=const(1))", "else_=const(0))"),
    Mutation(
        "a turn that ends leaves its lease on the message",
        STATEMENT_CONTEXT, "turned", '"leased_until": null()', '"leased_until": self.message.c.leased_until',
    ),
    Mutation("a dead message still holds its key", PUSHING, "_held", ", self.context.live", ""),
    Mutation(
        "a released message is due now, not as before",
        SETTLING, "release", "coalesce(given.c.due,", "coalesce(self.now,",
    ),
    Mutation("a moved message keeps its attempts", SETTLING, "move", "attempts=const(0),", ""),
    Mutation(
        "an extension raises the token",
        SETTLING, "extend", '"leased_until": until}', '"leased_until": until, "token": columns.token + const(1)}',
    ),
    Mutation(
        "the limit of attempts is one too high",
        DUE_ROWS, "_lend", "columns.attempts >= attempts", "columns.attempts > attempts",
    ),
    Mutation("the highest priority goes first", LINES, "of", "queue, ()))", "queue, ()), reverse=True)"),
    Mutation(
        "of a group nobody waits for those before it",
        GROUPS, "blockers", "other, columns.id, held)", "other, const(0), held)",
    ),
    Mutation(
        "the next of a group never has its turn",
        PROMOTING, "promote_next", "sorted({one for one in groups if isinstance(one[1], str)})", "[]",
    ),
    Mutation(
        "a pop leaves the message in the queue",
        RESERVE, "pop", "self.dialect.remove_picked(self.message, due, which, answer)",
        'self.dialect.change_picked(self.message, due, which, {"token": self.message.c.token + const(1)}, answer)',
    ),
    Mutation(
        "the version of a schedule is not tested",
        SCHEDULING, "_schedule_as_read", ', columns.version == self.bound("was", BigInteger())', "",
    ),
    Mutation(
        "a turn that was refused is kept in history",
        RECALLING, "keep_turns", "self.context.held_by(given)", "and_(*self.context.same_row(given))",
    ),
    Mutation(
        "a lease that ended at its limit is kept as failed",
        RECALLING, "keep_lapsed", "columns.attempts >= attempts", "columns.attempts > attempts",
    ),
    Mutation("the key of a failed attempt is remembered", REMEMBERING, "keep", "RolledBack | Released", "Released"),
    Mutation(
        "a key that is remembered is held by who pushes it",
        RECALLING, "hold_remembered", "columns.until <= self.now", "columns.until > self.now",
    ),
    Mutation("a late part begins another set", JOINING, "_gather", "if one.closed and", "if not one.closed and"),
    Mutation("a set has one part too many", JOINING, "_gather", "one.size >= join.limit", "one.size > join.limit"),
    Mutation("a whole set is forgotten at once", JOINING, "close", "bool(remember)", "False"),
    Mutation(
        "the parts of a set that was taken away count for the next",
        JOINING, "_look_for_messages", "by_id[id].count = None, 0", "by_id[id].count = None, by_id[id].count",
    ),
    Mutation("a set is due at once", JOINING, "_standing", "one.within)", "timedelta(0))"),
    Mutation(
        "a refused turn does not keep a batch back",
        PUBLISHING, "publish", "raise BatchRefused(batch, refused)", "pass",
    ),
    Mutation("a part may have more than it staged", PUBLISHING, "_chosen", "found != wanted", "found < wanted"),
    Mutation(
        "a batch does not ask whether its queues are drained",
        PUBLISHING, "publish", "yield from self._push.ask(queues)", "pass",
    ),
    Mutation("of a batch the first of a group waits too", STAGING, "publish", "number > const(1)", "number > const(0)"),
    Mutation(
        "a turn that was lost in a group may still be extended",
        GROUPS, "put_behind", "columns.token + case((unsettled, const(1)), else_=const(0))", "columns.token + const(0)",
    ),
    Mutation("what another claim holds is read too", LEND, "leased_range", "where(ids, its, ", "where(ids, "),
]  # fmt: skip

MEMORY = [
    Mutation("a drained queue takes new messages", STEPS, "push_new", "in state.draining", "in state.paused"),
    Mutation("a schedule ticks into a drained queue", SCHEDULES, "change", "steps.push_new(", "steps.push("),
    Mutation("the token of a turn is not tested", STEPS, "lent_on", " and record.token == receipt.token", ""),
    Mutation(
        "the newest due message comes first",
        STEPS, "_in_turn", "record in state.due(queue, now) if", "record in reversed(list(state.due(queue, now))) if",
    ),
    Mutation("of a group nobody waits for those before it", STATE, "has_turn", "[0] == record.id", "[0] >= 0"),
    Mutation(
        "a turn that was lost in a group may still be extended",
        STEPS, "_in_turn", "settled(record)", "unleased(record)",
    ),
    Mutation("attempts are not counted", RECORDS, "lent", "attempts=record.attempts + 1", "attempts=record.attempts"),
    Mutation("a turn that ends leaves its lease on the message", RECORDS, "settled", "unleased(record)", "record"),
    Mutation(
        "a key is unique only within one push",
        STEPS, "_refuse_taken_keys", " or state.holder(entry.queue, entry.key) is not None", "",
    ),
    Mutation("a released message is due now, not as before", TURNS, "end_turn", "due_at=due_at,", "due_at=now,"),
    Mutation("a message that begins anew keeps its attempts", RECORDS, "as_new", "attempts=0,", ""),
    Mutation(
        "an extension raises the token",
        STEPS, "extend", "leased_until=until)", "leased_until=until, token=record.token + 1)",
    ),
    Mutation(
        "the limit of attempts is one too high",
        STEPS, "reserve", "record.attempts >= attempts", "record.attempts > attempts",
    ),
    Mutation("a pop leaves the message in the queue", STEPS, "pop", "state.drop(record.id)", "pass"),
    Mutation("the version of a schedule is not tested", SCHEDULES, "change", "return False", "pass"),
    Mutation("what was kept long enough is kept for ever", STATE, "forget", "until <= now", "until < now"),
    Mutation("the key of a failed attempt is remembered", PAST, "ended", "not isinstance(end, RolledBack)", "True"),
    Mutation("a late part begins another set", JOIN_SETS, "late_end", "closed_until > now", "closed_until <= now"),
    Mutation("a set has one part too many", JOIN_SETS, "grown", "len(parts) >= join.limit", "len(parts) > join.limit"),
    Mutation("a part of a set ends as one too many", SETS, "join", "return joined(", "return turn.full or dict("),
]  # fmt: skip

POSTGRESQL = [
    Mutation(
        "a claim waits for what others hold",
        DUE_ROWS, "_first_due", "with_for_update(skip_locked=True, ", "with_for_update(",
    ),
    Mutation(
        "the floor passes what others hold",
        FLOOR, "claimed", "min(oldest, newest - BEHIND)", "newest - BEHIND",
    ),
    Mutation("the floor begins at the newest that is due", DUE_ROWS, "_oldest", "func.min(", "func.max("),
    Mutation("below the floor nobody looks", FLOOR, "start", "now >= floor.below.at", "now >= 1e12"),
    Mutation(
        "what this process writes below the floor is not seen",
        FLOOR, "_lower", "due_at < floor.due_at", "due_at > floor.due_at",
    ),
    Mutation("a queue is called empty from the floor on", CLAIMS, "carry_out", "line in claim.floored or ", ""),
    Mutation("every claim leaves out slow looks", CLAIMS, "carry_out", "not claim.exact", "claim.exact is not None"),
    Mutation("a look that was left out is forgotten", FLOOR, "must_leave_out", " or waits", ""),
    Mutation(
        "a span is a thousand times as long",
        DIALECT, "later", "INTERVAL '1 microsecond'", "INTERVAL '1 millisecond'",
    ),
    Mutation("a backslash in a list is one too few", ARRAY_VALUES, "_escaped", r""".replace("\\", "\\\\")""", ""),
    Mutation("a lease that ended says so in other words", EXPRESSIONS, "ended_lease", 'const(" of ")', 'const(" in ")'),
    Mutation(
        "of a path the first name counts alone",
        JSON_PATHS, "_led_to", "Text) for name in names]", "Text) for name in names[:1]]",
    ),
    SQL[0],
]  # fmt: skip

STORES = {"sqlite": SQL, "postgresql": POSTGRESQL, "memory": MEMORY}
"""On which store each list is tried."""

TESTS = {"postgresql": ("tests/stores/postgresql/test_claim_floor.py",)}
"""What has to notice them besides the store's conformance suite."""
