"""The example sends Python's own library through its pipeline, and finds what a plain loop finds."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

import duerow
from examples.library import findings, measures, modules, plain_loop
from examples.library.command import app
from examples.library.findings import Findings
from examples.library.payloads import Piece
from examples.library.stations import ENTRIES, GROUPS

PACKAGES = ("json", "encodings.cp1250", "encodings.cp1251", "encodings.cp1252", "html", "this")


def test_a_dozen_modules_come_through_the_pipeline_as_a_plain_loop_has_them(
    session: SparkSession, tmp_path: Path
) -> None:
    url = f"sqlite:///{tmp_path}/library.db"
    arguments = ["--db", url, *(word for name in PACKAGES for word in ("--only", name))]

    done = CliRunner().invoke(app, [*arguments, "--json"])

    assert done.exit_code == 0, done.output
    found = msgspec.json.decode(done.stdout, type=Findings)
    assert found == plain_loop.find(modules.names(PACKAGES))
    assert {"json.decoder", "encodings.cp1251", "html.entities", "this"} <= found.entries.keys()
    assert found.entries["json"].brings > found.entries["json"].rounds > 1
    assert {"cp1250", "cp1251", "cp1252"} <= {place.module.rpartition(".")[2] for place in found.copied[0]}
    with duerow.connect(url) as database:
        assert database.queues() == [ENTRIES, GROUPS]

    again = CliRunner().invoke(app, arguments)
    assert again.exit_code == 0
    assert "0 of 12 modules are new" in again.output
    assert "12 modules" in again.stdout
    assert "json.scanner.py_make_scanner" in again.stdout


def test_what_is_there_twice_is_no_finding() -> None:
    entries = list(plain_loop.find(["this"]).entries.values())
    with pytest.raises(ValueError, match="this occurs twice"):
        findings.gather(entries * 2, [])


def test_functions_are_alike_if_only_their_names_differ() -> None:
    def shape(source: str) -> str:
        return measures.shape(Piece("m", "f", 1, 2, 2, source)).shape

    one = shape('    def f(self, a: int) -> int:\n        """Doc."""\n        return len(a) + a')
    assert one == shape("def g(me, b):\n    return str(b) + b")
    assert one != shape("def g(me, b):\n    return b + str(b)")
    assert one != shape("def g(me, b):\n    return str(b) + b + 1")
