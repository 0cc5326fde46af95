"""Whatever is typed or stored, a command ends with a documented exit code, and nothing of it steers the terminal."""

from __future__ import annotations

import random
import shutil
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import typer.main
from typer.testing import CliRunner

import duerow
from duerow import Database, Pipeline, Switch
from duerow.cli import output
from duerow.cli.application import app

ESCAPES = "\x1b[31m\x9b2J\x07\u202e\x7f"

ODD = [
    *("", " ", ESCAPES, "\ud800", "\udcff{}", "\u2028", "-1", "0", "1", "99", str(10**30), "-" + "9" * 5000, "1.5"),
    *("nan", "inf", "1e400", "1e30", "'", '"', "{", "null", '{"a": 1}', '"\\ud800"', '"\\u0000"', '"\\u001b[31m"', "5"),
    *("[" * 2000 + "]" * 2000, '{"a":' * 990 + "1" + "}" * 990, "payload.x = 1", "bogus = 1", "status = 'dead'"),
    *(f"key = '{ESCAPES}'", "orders", "odd", "oders", "x" * 300, "../x", "a=b", ".json:x", "json:", ":", "a:b"),
    *("2026-03-01T12:00:00", "2026-03-01T12:00:00Z", "0001-01-01T00:00:00+14:00", "id", "-due_at", "payload.a", "all"),
]
"""What nobody means."""

URLS = ["sqlite:///%00", "sqlite:///typo.db", "sqlite:///", "memory://", f"{ESCAPES}://x", "x", "sqlite:///a/b/c?d=e"]

CALM = {"--rate": ["0", "-1", "nan", "1000", "x"], "--timeout": ["0", "-1", "nan", "x"], "--until": ["idle", "x"]}
"""Options whose odd values would only make a command wait."""

ALWAYS = {"drain": ["--timeout", "0"], "worker": ["--until", "idle"]}

ENDS = {0, 1, 2, 3, 4, 5, 6, 7}


def leaves(of: Any, path: tuple[str, ...] = ()) -> dict[tuple[str, ...], Any]:
    """All commands by the words that call them."""
    if not hasattr(of, "commands"):
        return {path: of}
    return {words: one for name, sub in of.commands.items() for words, one in leaves(sub, (*path, name)).items()}


COMMANDS = leaves(typer.main.get_command(app))


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database in which everything that users name or write holds escapes; each test has a copy."""
    file = tmp_path_factory.mktemp("filled") / "shop.db"
    with duerow.connect(f"sqlite:///{file}", migrate=True) as database:
        fill(database)
    return file


@pytest.fixture
def shop(url: str, filled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A copy of that database."""
    monkeypatch.chdir(tmp_path)
    shutil.copyfile(filled, url.removeprefix("sqlite:///"))
    return url


def fill(database: Database) -> None:
    """Store escapes wherever text can be."""
    for name in ("orders", "odd"):
        queue = database.queue(name, history=timedelta(days=1), dead_letter="dead" if name == "odd" else None)
        queue.declare()
        queue.push({"a": ESCAPES, ESCAPES: 1}, key=f"k{ESCAPES}", headers={ESCAPES: ESCAPES}, group=f"g{ESCAPES}")
        queue.push(ESCAPES, group=f"g{ESCAPES}")
        queue.push(b"\x1b")
        held = queue.reserve_many(2, consumer=f"here{ESCAPES}")
        queue.rollback(held[0], delay=timedelta(0), error=f"no{ESCAPES}")
        queue.bury(held[1], ESCAPES)
    database.run(lambda: database.store.metadata.note_consumer(f"h{ESCAPES}", ["orders"], [ESCAPES], ESCAPES))
    database.schedule("often", every=timedelta(hours=1), queue="orders", payload=ESCAPES)
    switch = Switch("odd", lambda message: "x", to={ESCAPES: "orders"})
    database.declare_pipeline(Pipeline("pipe", [switch], outputs=["orders"]))


def arguments(lot: random.Random, words: tuple[str, ...]) -> list[str]:
    """Return a command line: some of the options and all arguments of a command, with values that few would give."""
    options: list[str] = []
    places: list[str] = []
    for parameter in COMMANDS[words].params:
        name = max(parameter.opts, key=len)
        values = URLS if name in ("--db", "--into") else CALM.get(name, ODD)
        is_option = name.startswith("-")
        if is_option and name != "--confirm" and lot.random() < (0.95 if name == "--db" else 0.7):
            continue
        if name == "--reload":  # it would watch this folder for ever
            continue
        if is_option and getattr(parameter, "is_flag", False):
            options.append(name)
        elif is_option:
            options += [name, lot.choice(values)]
        else:
            places.append(lot.choice(["orders", "odd", "dead", "pipe", "often", "1", *values]))
    return [*words, *options, *ALWAYS.get(words[-1], []), *(["--"] if lot.random() < 0.5 else []), *places]


def steering(text: str) -> str:
    """Return the characters of an output that a terminal could take for something else than text."""
    return "".join(one for one in text if not one.isprintable() and one not in "\n\t")


def tried(words: tuple[str, ...], seed: int, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Call a command once, and see that it ended well."""
    lot = random.Random(f"{words} {seed}")
    on_terminal = lot.random() < 0.5
    monkeypatch.setattr(output, "is_terminal", lambda: on_terminal)
    line = arguments(lot, words)
    environment = {"DUEROW_URL": url, "COLUMNS": "80", "TERM": "dumb", "NO_COLOR": "1"}
    result = CliRunner().invoke(app, line, env=environment, input=lot.choice(ODD).encode(errors="surrogatepass"))
    told = f"seed {seed}: {line!r:.600}\n{result.output!r:.2000}"
    assert result.exit_code in ENDS, told
    assert result.exception is None or isinstance(result.exception, SystemExit), told
    assert "Traceback" not in result.output, told
    assert steering(result.stdout) == "", told
    assert steering(result.stderr) == "", told


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_command_takes_anything_and_ends_with_a_documented_exit_code(
    words: tuple[str, ...], shop: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed in range(4):
        tried(words, seed, shop, monkeypatch)
    assert "typo.db" not in [file.name for file in Path.cwd().iterdir()] or words == ("migrate",)


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_thousands_of_odd_command_lines_end_with_documented_exit_codes(
    shop: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed in range(100, 200):
        for words in COMMANDS:
            tried(words, seed, shop, monkeypatch)
