"""Aggregates of a frame station's result, which Spark computes while the tasks write its rows."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from duerow.errors import ConfigurationError
from duerow.pipeline import Frame

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, Observation


LOG: Final = logging.getLogger("duerow.spark")


class Observed:
    """The values of a station's `observe` for one batch.

    Args:
        station: the station.
    """

    def __init__(self, station: Frame) -> None:
        self._station = station
        self._found: Observation | None = None

    def on(self, result: DataFrame) -> DataFrame:
        """Return the result of the station's function such that the first action on it computes the values."""
        if self._station.observe is None:
            return result
        from pyspark.sql import Observation

        self._found = Observation()
        return with_observed(self._station, result, self._found)

    def values(self) -> dict[str, Any]:
        """Return the values after that action; empty if the station observes nothing."""
        if self._found is None:
            return {}
        try:
            return self._found.get
        except Exception as error:  # only the aggregates failed: the batch is finished
            LOG.warning("%s: what it observes could not be computed: %s", self._station, type(error).__name__)
            return {}


def with_observed(station: Frame, result: DataFrame, where: Observation | str) -> DataFrame:
    """Return the result of a station's function with its aggregates.

    Args:
        station: the station.
        result: the result.
        where: what receives the values.

    Raises:
        ConfigurationError: Spark cannot compute the aggregates from the result.
    """
    from pyspark.errors import PySparkException

    try:
        found = result.observe(where, *_columns(station.observe or {}))
        found.schema  # noqa: B018 - which Spark Connect finds out only when it is asked
    except PySparkException as error:
        raise ConfigurationError(f"{station}: observe: Spark cannot compute it from the result: {error}") from error
    return found


def _columns(observe: Mapping[str, Any]) -> list[Column]:
    from pyspark.sql import functions

    return [(functions.expr(of) if isinstance(of, str) else of).alias(name) for name, of in observe.items()]


def observed_text(values: Mapping[str, Any]) -> str:
    """Return values as readable text."""
    return ", ".join(f"{name}={value}" for name, value in values.items())
