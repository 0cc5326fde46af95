"""Retry policies as values: stored in a database, shown to people, and turned back into policies.

A function cannot be stored; its name is stored instead, so that people can tell which function it was.
"""

from __future__ import annotations

from datetime import timedelta

import msgspec

from duerow.retry import (
    ByError,
    Exponential,
    Fixed,
    GiveUp,
    Limited,
    RetryFunction,
    RetryPolicy,
    Snooze,
    bury,
    exponential,
    fixed,
    limited,
    snooze,
)


class _Value(msgspec.Struct, frozen=True, tag_field="policy"):
    """One policy; its text is its form in Python, with readable durations."""


class FixedValue(_Value, frozen=True, tag="fixed"):
    """The value of `fixed`."""

    delay: timedelta

    def __str__(self) -> str:
        return f"fixed({self.delay})"


class ExponentialValue(_Value, frozen=True, tag="exponential"):
    """The value of `exponential`."""

    first: timedelta
    factor: float
    maximum: timedelta
    jitter: float

    def __str__(self) -> str:
        return (
            f"exponential(first={self.first}, factor={self.factor:g}, maximum={self.maximum}, jitter={self.jitter:g})"
        )


class SnoozeValue(_Value, frozen=True, tag="snooze"):
    """The value of `snooze`."""

    delay: timedelta

    def __str__(self) -> str:
        return f"snooze({self.delay})"


class BuryValue(_Value, frozen=True, tag="bury"):
    """The value of `bury`."""

    def __str__(self) -> str:
        return "bury"


class LimitedValue(_Value, frozen=True, tag="limited"):
    """The value of `limited`."""

    attempts: int
    of: PolicyValue

    def __str__(self) -> str:
        return f"limited({self.attempts}, {self.of})"


class RuleValue(msgspec.Struct, frozen=True):
    """A rule of `by_error`: the names of the errors, and the policy for them."""

    errors: tuple[str, ...]
    of: PolicyValue

    def __str__(self) -> str:
        named = self.errors[0] if len(self.errors) == 1 else f"({', '.join(self.errors)})"
        return f"on({named}, {self.of})"


class ByErrorValue(_Value, frozen=True, tag="by_error"):
    """The value of `by_error`."""

    rules: tuple[RuleValue, ...]
    otherwise: PolicyValue

    def __str__(self) -> str:
        return f"by_error({', '.join(map(str, self.rules))}, otherwise={self.otherwise})"


class NamedValue(_Value, frozen=True, tag="named"):
    """A user's own function or class, represented only by its name, and its limit if it has one."""

    name: str
    limit: int | None = None

    def __str__(self) -> str:
        return self.name


PolicyValue = FixedValue | ExponentialValue | SnoozeValue | BuryValue | LimitedValue | ByErrorValue | NamedValue


def as_value(policy: RetryPolicy | RetryFunction) -> PolicyValue:
    """Return a policy as a value."""
    match policy:
        case Fixed():
            return FixedValue(policy.delay)
        case Exponential():
            return ExponentialValue(policy.first, float(policy.factor), policy.maximum, float(policy.jitter))
        case Snooze():
            return SnoozeValue(policy.delay)
        case GiveUp():
            return BuryValue()
        case Limited():
            return LimitedValue(policy.limit, as_value(policy.policy))
        case ByError():
            rules = (
                RuleValue(tuple(_name(error) for error in rule.errors), as_value(rule.policy)) for rule in policy.rules
            )
            return ByErrorValue(tuple(rules), as_value(policy.otherwise))
    bare = getattr(policy, "function", policy)  # `on` wraps bare functions
    limit = policy.limit if isinstance(policy, RetryPolicy) else None
    return NamedValue(_name(bare), limit)


def limit_of(value: PolicyValue) -> int | None:
    """Return the total number of attempts that a policy allows; None: no limit."""
    match value:
        case LimitedValue():
            return value.attempts
        case ByErrorValue():
            return limit_of(value.otherwise)
        case NamedValue():
            return value.limit
    return None


def as_policy(value: PolicyValue) -> RetryPolicy | None:
    """Return the policy of a value; None if a function or error in it is known only by its name."""
    match value:
        case FixedValue():
            return fixed(value.delay)
        case ExponentialValue():
            return exponential(value.first, value.factor, value.maximum, value.jitter)
        case SnoozeValue():
            return snooze(value.delay)
        case BuryValue():
            return bury
        case LimitedValue():
            inner = as_policy(value.of)
            return None if inner is None else limited(value.attempts, inner)
    return None


def _name(thing: object) -> str:
    named = thing if hasattr(thing, "__qualname__") else type(thing)
    module = getattr(named, "__module__", None)
    prefix = "" if module in (None, "builtins") else f"{module}."
    return f"{prefix}{getattr(named, '__qualname__', named)}"
