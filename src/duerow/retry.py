"""Retry policies: a policy turns a failed attempt into a delay, or into None to give up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Protocol, runtime_checkable

from duerow.backoff import spread
from duerow.errors import ConfigurationError, shown
from duerow.message import check_span
from duerow.signatures import check_call

RetryFunction = Callable[[int, datetime | None, BaseException | None], timedelta | None]
"""(attempt from 1, when that attempt began, its error) -> delay until the next one, or None to give up."""

DEFAULT_LIMIT: Final = 20

_GIVEN: Final = ("attempt", "started_at", "error")
"""The arguments that a policy is called with."""


@runtime_checkable
class RetryPolicy(Protocol):
    """A delay for each failed attempt, and a limit on the total number of attempts.

    Attributes:
        limit: total number of attempts, or None for no limit.
    """

    @property
    def limit(self) -> int | None:
        """The total number of attempts a message gets; None: no limit."""
        ...

    def __call__(
        self, attempt: int, started_at: datetime | None = None, error: BaseException | None = None
    ) -> timedelta | None:
        """Return the delay after this attempt (counted from 1) has failed, or None to give up."""
        ...


@dataclass(frozen=True)
class Fixed:
    """The same delay after every failure."""

    delay: timedelta
    limit: None = None

    def __call__(
        self, attempt: int, started_at: datetime | None = None, error: BaseException | None = None
    ) -> timedelta:
        """Return the delay."""
        return self.delay


@dataclass(frozen=True)
class Exponential:
    """A delay that grows by a factor with every attempt up to a maximum, with proportional random jitter."""

    first: timedelta
    factor: float
    maximum: timedelta
    jitter: float
    limit: None = None

    def __call__(
        self, attempt: int, started_at: datetime | None = None, error: BaseException | None = None
    ) -> timedelta:
        """Return first * factor ** (attempt - 1), at most the maximum, times 1 ± jitter."""
        try:
            grown = self.first.total_seconds() * self.factor ** (attempt - 1)
        except OverflowError:
            grown = float("inf")
        seconds = min(grown, self.maximum.total_seconds())
        return timedelta(seconds=spread(seconds, 1 - self.jitter, 1 + self.jitter))


@dataclass(frozen=True)
class Limited:
    """Another policy, limited to a total number of attempts."""

    limit: int
    policy: RetryFunction

    def __call__(
        self, attempt: int, started_at: datetime | None = None, error: BaseException | None = None
    ) -> timedelta | None:
        """Return the other policy's delay, or None once the attempts are used up."""
        return None if attempt >= self.limit else self.policy(attempt, started_at, error)


@dataclass(frozen=True)
class GiveUp:
    """Give up at once, whatever the attempt."""

    limit: None = None

    def __call__(self, attempt: int, started_at: datetime | None = None, error: BaseException | None = None) -> None:
        """Return None."""
        return


@dataclass(frozen=True)
class Snooze:
    """The same delay after every failure, even beyond the limit of the policy that contains it."""

    delay: timedelta
    limit: None = None

    def __call__(
        self, attempt: int, started_at: datetime | None = None, error: BaseException | None = None
    ) -> timedelta:
        """Return the delay."""
        return self.delay


@dataclass(frozen=True)
class Rule:
    """The policy for certain types of errors."""

    errors: tuple[type[BaseException], ...]
    policy: RetryPolicy


@dataclass(frozen=True)
class ByError:
    """The policy of the first rule that matches the error, else a default policy, whose limit applies to all errors."""

    rules: tuple[Rule, ...]
    otherwise: RetryPolicy

    @property
    def limit(self) -> int | None:
        """The limit of the policy for all other errors; it also applies when a consumer dies without an error."""
        return self.otherwise.limit

    def __call__(
        self, attempt: int, started_at: datetime | None = None, error: BaseException | None = None
    ) -> timedelta | None:
        """Return the delay for this error; None beyond the limit, unless its policy has its own limit or snoozes."""
        for rule in self.rules:
            if isinstance(error, rule.errors):
                return None if self._used_up(attempt, rule.policy) else rule.policy(attempt, started_at, error)
        return self.otherwise(attempt, started_at, error)

    def _used_up(self, attempt: int, policy: RetryPolicy) -> bool:
        own = policy.limit is not None or isinstance(policy, Snooze)
        return not own and self.limit is not None and attempt >= self.limit


bury: Final = GiveUp()
"""Give up at once: for errors that retrying cannot fix."""


def snooze(delay: timedelta) -> Snooze:
    """The same delay after every failure, regardless of the limit: for work that is just not ready yet."""
    return Snooze(check_span("delay", delay))


def on(errors: type[BaseException] | tuple[type[BaseException], ...], policy: RetryPolicy | RetryFunction) -> Rule:
    """The policy for errors of one or several types: a rule for `by_error`.

    Args:
        errors: one or more exception classes; subclasses match as well.
        policy: `bury`, `snooze(…)`, `fixed(…)`, any other policy, or a function. A `limited` policy keeps its own
            limit; the others use the limit of `by_error`.

    Raises:
        ConfigurationError: something else was given.
    """
    kinds = errors if isinstance(errors, tuple) else (errors,)
    if not kinds or not all(map(_is_exception, kinds)):
        raise ConfigurationError(f"on() takes exception classes, such as ConnectionError, not {shown(errors)}")
    return Rule(kinds, _checked(policy))


def by_error(*rules: Rule, otherwise: RetryPolicy | RetryFunction | None = None) -> ByError:
    """A policy that depends on the error: the first rule that matches applies.

    Args:
        rules: made by `on`; the first match wins.
        otherwise: the policy for all other errors; its limit applies to all errors. Default: at most 20 attempts, as
            usual.

    Raises:
        ConfigurationError: no rule was given, or a rule can never apply because earlier rules cover all its errors.
    """
    if not rules or not all(isinstance(rule, Rule) for rule in rules):
        raise ConfigurationError(
            f"by_error() takes rules, such as on(ConnectionError, fixed(…)), not {shown(rules)}; the policy for all "
            "other errors is passed as otherwise="
        )
    named: tuple[type[BaseException], ...] = ()
    for rule in rules:
        if named and all(issubclass(kind, named) for kind in rule.errors):
            kinds = ", ".join(kind.__qualname__ for kind in rule.errors)
            raise ConfigurationError(
                f"the rule for {kinds} can never apply: an earlier rule names the same errors; put the narrower rule "
                "first"
            )
        named += rule.errors
    return ByError(rules, as_policy(otherwise))


def _is_exception(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseException)


def _checked(policy: RetryPolicy | RetryFunction) -> RetryPolicy:
    """Return a policy; a bare function becomes a policy without a limit of its own."""
    if isinstance(policy, RetryPolicy):
        return policy
    if not callable(policy):
        raise ConfigurationError(
            "policy must be bury, snooze(…), fixed(…), exponential(…) or a function of (attempt, started_at, error), "
            f"not {shown(policy)}"
        )
    check_call("a retry policy", policy, *_GIVEN)
    return _Bare(policy)


@dataclass(frozen=True)
class _Bare:
    """A function as a policy without a limit of its own."""

    function: RetryFunction
    limit: None = None

    def __call__(
        self, attempt: int, started_at: datetime | None = None, error: BaseException | None = None
    ) -> timedelta | None:
        return self.function(attempt, started_at, error)


def fixed(delay: timedelta) -> Fixed:
    """The same delay after every failure, forever; wrap it in `limited` to give up eventually."""
    return Fixed(check_span("delay", delay))


def exponential(
    first: timedelta = timedelta(seconds=1),
    factor: float = 2.0,
    maximum: timedelta = timedelta(hours=1),
    jitter: float = 0.1,
) -> Exponential:
    """A delay that starts at `first` and grows by `factor` up to `maximum`, times 1 ± `jitter`.

    Raises:
        ConfigurationError: the factor is not a number of at least 1, or the jitter is not a number from 0 to 1.
    """
    if not _is_number(factor) or not factor >= 1:
        raise ConfigurationError(f"factor must be at least 1, not {shown(factor)}; a delay must not shrink")
    if not _is_number(jitter) or not 0 <= jitter <= 1:
        raise ConfigurationError(f"jitter must be a fraction of the delay, from 0 to 1, not {shown(jitter)}")
    return Exponential(check_span("first", first), float(factor), check_span("maximum", maximum), jitter)


def _is_number(value: object) -> bool:
    # a larger integer may not fit into a float
    return isinstance(value, float) or (type(value) is int and abs(value) < 1 << 53)


def limited(limit: int, policy: RetryFunction) -> Limited:
    """Another policy, limited to `limit` attempts in total; the last failure makes the message dead.

    Raises:
        ConfigurationError: the limit is not an integer of at least 1, or the policy is not callable.
    """
    if type(limit) is not int or limit < 1:
        raise ConfigurationError(
            f"limit must be an integer of at least 1, not {shown(limit)}; it is the total number of attempts"
        )
    if not callable(policy):
        raise ConfigurationError(
            "policy must be fixed(…), exponential(…) or a function of (attempt, started_at, error), not "
            f"{shown(policy)}"
        )
    check_call("a retry policy", policy, *_GIVEN)
    return Limited(limit, policy)


def as_policy(retry: RetryPolicy | RetryFunction | None) -> RetryPolicy:
    """Return the policy for a user's argument: the default for None; a bare function gets a limit of 20 attempts."""
    if retry is None:
        return DEFAULT
    return retry if isinstance(retry, RetryPolicy) else limited(DEFAULT_LIMIT, retry)


DEFAULT_DELAYS: Final = exponential()

DEFAULT: Final = limited(DEFAULT_LIMIT, DEFAULT_DELAYS)
"""At most 20 attempts, with delays that start at one second and double up to an hour, ± 10 %."""
