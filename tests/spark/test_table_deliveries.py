"""Deliveries that are killed at any step, repeated, or late: each row of a batch is in its table once. No Spark."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pyarrow as pa
import pytest
import sqlalchemy as sa
from pyarrow import parquet

import duerow
from duerow import Bury, Commit, LeaseLost, Pipeline, TableSink, TableSource
from duerow.errors import ConfigurationError, InvalidOutcome, NotSupported
from duerow.spark import table_files
from duerow.spark.tables import compaction, database, lakes
from duerow.spark.tables.folder import Folder
from duerow.spark.tables.job import check_package
from duerow.spark.tables.manifest import FILES, Manifest
from duerow.spark.tables.portions import Portions
from duerow.spark.tables.source import key_of
from duerow.spark.tables.write import RowChunk
from duerow.testing.clock import MovableClock, minutes
from tests.spark.deliveries import Killed, batch, clock, db, delivering, killed_at, push, rows, settle, work_off

__all__ = ["clock", "db"]


@pytest.fixture
def lake(tmp_path: Path) -> TableSink:
    return TableSink("lake", format="parquet", path=tmp_path / "lake", compact=2)


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("step", ["put", "delete", "writing", "settle"])
def test_a_table_has_each_row_once_whichever_step_of_a_delivery_or_a_compaction_is_killed(
    db: duerow.Database,
    clock: MovableClock,
    lake: TableSink,
    monkeypatch: pytest.MonkeyPatch,
    step: str,
    after: bool,
) -> None:
    station = delivering(lake)
    monkeypatch.setattr(compaction.time, "time", lambda: clock.now().timestamp())
    kills = 0
    for number in range(12):
        push(db, lake, batch(lake, f"b{number:02}", [2 * number, 2 * number + 1]))
        while (held := station.queue(db).reserve()) is not None:
            if kills < 2 * (number + 1):
                kills += 1
                where = duerow.Queue if step == "settle" else Folder
                killed_at(monkeypatch, where, step, after)
            try:
                settle(db, station, held)
            except Killed:
                assert set(rows(lake) if Manifest(Folder(str(lake.path))).names() else ()) <= {*range(2 * number + 2)}
                clock.advance(minutes(11))
            clock.advance(minutes(1))
        assert rows(lake) == list(range(2 * number + 2))
        clock.advance(minutes(30))
    assert kills > 12
    assert len(table_files(str(lake.path))) <= 3
    assert db.queues() == []


def test_a_delivery_that_wakes_up_after_its_batch_was_merged_changes_nothing(
    db: duerow.Database, clock: MovableClock, lake: TableSink
) -> None:
    station, names = delivering(lake), ["b0", "b1", "b2"]
    made = [batch(lake, name, [n]) for n, name in enumerate(names)]
    push(db, lake, made[0])
    sleeping = station.queue(db).reserve()
    assert sleeping is not None
    clock.advance(minutes(11))
    for one in made[1:]:
        push(db, lake, one)
    work_off(db, station)
    merged = table_files(str(lake.path))
    assert len(merged) == 1

    with pytest.raises(LeaseLost):
        settle(db, station, sleeping)
    assert table_files(str(lake.path)) == merged
    assert rows(lake) == [0, 1, 2]


def test_files_with_other_columns_are_merged_among_themselves_and_merged_files_stay_for_an_hour(
    db: duerow.Database, clock: MovableClock, lake: TableSink, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compaction.time, "time", lambda: clock.now().timestamp())
    station, folder = delivering(lake), Folder(str(lake.path))
    for number in range(4):
        push(db, lake, batch(lake, f"b{number}", [number], column="nm"[number % 2]))
    work_off(db, station)
    columns = sorted(parquet.read_schema(file).names[0] for file in table_files(str(lake.path)))
    assert columns[0] == "m"
    assert columns[-1] == "n"
    before = {one.base_name for one in folder.listed(FILES)}
    assert {"b0.parquet", "b2.parquet"} <= before

    clock.advance(minutes(61))
    for number in range(4, 8):
        push(db, lake, batch(lake, f"b{number}", [number]))
    work_off(db, station)
    assert not {"b0.parquet", "b2.parquet"} & {one.base_name for one in folder.listed(FILES)}


def test_a_compaction_merges_the_files_of_each_partition_among_themselves(db: duerow.Database, lake: TableSink) -> None:
    station = delivering(lake)
    for number in range(6):
        push(db, lake, batch(lake, f"b{number}", [number], partition={"day": "ab"[number % 2]}))
    work_off(db, station)
    files = Manifest(Folder(str(lake.path))).files()
    assert rows(lake) == [*range(6)]
    assert len(files) < 6
    for file in files:
        assert f"/day={file.partition['day']}/" in file.path
        there = parquet.read_table(Folder(str(lake.path)).url(file.path), partitioning=None)["n"].to_pylist()
        assert {"ab"[n % 2] for n in there} == {file.partition["day"]}


def test_of_two_stations_that_merge_the_same_batches_only_the_first_one_counts(tmp_path: Path) -> None:
    sinks = [TableSink(name, format="parquet", path=tmp_path, compact=2) for name in ("one", "two")]
    folder, manifest = Folder(str(tmp_path)), Manifest(Folder(str(tmp_path)))
    for number in range(3):
        manifest.add(batch(sinks[0], f"b{number}", [number]))
    first, second = compaction.compacted(folder), compaction.compacted(folder)
    assert first is not None
    assert second is not None
    for made in (first, second, first):
        manifest.add(made)
    assert rows(sinks[0]) == [0, 1, 2]
    with pytest.raises(
        ConfigurationError, match=r"table 'one' and table 'two' would both merge files in .*; pass compac"
    ):
        Pipeline("lake", sinks)


def test_a_list_of_entries_that_changed_and_changed_back_is_read_again(
    lake: TableSink, monkeypatch: pytest.MonkeyPatch
) -> None:
    manifest = Manifest(Folder(str(lake.path)))
    manifest.add(batch(lake, "b0", [0]))
    read, gone = Folder.read, [True]

    def once_gone(folder: Folder, name: str) -> bytes:
        if gone:
            raise FileNotFoundError(gone.pop() and name)
        return read(folder, name)

    monkeypatch.setattr(Folder, "read", once_gone)
    assert [one.name for one in manifest.entries()] == ["b0"]


def test_a_folder_that_no_table_station_has_written_to_is_no_table(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="is not a table"):
        table_files(tmp_path)


# Tables of databases.


@pytest.fixture
def target(tmp_path: Path) -> TableSink:
    url = f"sqlite:///{tmp_path}/target.db"
    with sa.create_engine(url).begin() as on:
        on.exec_driver_sql("CREATE TABLE t (n INTEGER CHECK (n < 100), day DATE)")
    return TableSink("lake", format="jdbc", url=f"jdbc:{url}", table="t")


def inserted(sink: TableSink) -> list[int]:
    with database.engine_of(str(sink.url)).connect() as on:
        return [row[0] for row in on.exec_driver_sql("SELECT n FROM t ORDER BY n")]


def test_a_chunk_is_inserted_once_although_its_delivery_died_before_its_turn_ended(
    db: duerow.Database, clock: MovableClock, target: TableSink
) -> None:
    station = delivering(target)
    push(db, target, RowChunk("c", ["n", "day"], [[n, "2026-01-02"] for n in range(5)]))
    for _ in range(3):
        held = station.queue(db).reserve()
        assert held is not None
        assert station.settlement(held.message, 9) == Commit()
        clock.advance(minutes(11))
    work_off(db, station)
    assert inserted(target) == [0, 1, 2, 3, 4]
    assert db.queues() == []


def test_of_a_chunk_that_the_table_refuses_only_the_rows_at_fault_are_dead_with_column_or_constraint(
    db: duerow.Database, target: TableSink
) -> None:
    station = delivering(target)
    rows = [[n, "2026-01-02"] for n in (1, 2, 300, 4)] + [[5, "yesterday"]]
    push(db, target, RowChunk("c", ["n", "day"], rows))
    work_off(db, station)
    assert inserted(target) == [1, 2, 4]
    dead = {str(m.payload["rows"]): str(m.last_error) for m in db.queue("lake/batches").find()}
    assert "CHECK constraint failed" in dead["[[300, '2026-01-02']]"]
    assert "column day" in dead["[[5, 'yesterday']]"]


def test_a_chunk_that_was_divided_is_not_inserted_whole_by_a_delivery_that_wakes_up_late(
    db: duerow.Database, clock: MovableClock, target: TableSink
) -> None:
    station, engine = delivering(target), database.engine_of(str(target.url))
    with engine.begin() as on:
        on.exec_driver_sql("CREATE TABLE shops (id INTEGER PRIMARY KEY)")
        on.exec_driver_sql(
            "CREATE TRIGGER known BEFORE INSERT ON t WHEN NEW.n = 3 AND NOT EXISTS (SELECT 1 FROM shops) "
            "BEGIN SELECT RAISE(ABORT, 'unknown shop'); END"
        )
    push(db, target, RowChunk("c", ["n"], [[n] for n in range(4)]))
    late = station.queue(db).reserve()
    assert late is not None
    clock.advance(minutes(11))
    killed = station.queue(db).reserve()
    assert killed is not None
    station.settlement(killed.message, 9)  # and it dies before its turn ends
    clock.advance(minutes(11))
    work_off(db, station)
    assert inserted(target) == [0, 1, 2]
    with engine.begin() as on:
        on.exec_driver_sql("INSERT INTO shops VALUES (1)")
    with pytest.raises(LeaseLost):
        settle(db, station, late)
    assert inserted(target) == [0, 1, 2]
    db.queue(target.batches).redrive()
    work_off(db, station)
    assert inserted(target) == [0, 1, 2, 3]


def test_what_is_no_batch_is_dead_and_the_table_stays_as_it_is(
    db: duerow.Database, lake: TableSink, target: TableSink
) -> None:
    for sink in (lake, target):
        push(db, sink, {"odd": 1})
        work_off(db, delivering(sink))
        (dead,) = db.queue(sink.batches).find()
        assert "is not one of its batches" in str(dead.last_error)
        db.queue(sink.batches).purge(sink.batches)


def test_an_error_of_a_tables_database_does_not_show_the_rows(target: TableSink) -> None:
    with sa.create_engine(str(target.url).removeprefix("jdbc:")).begin() as on:
        on.exec_driver_sql("CREATE TRIGGER broken BEFORE INSERT ON t BEGIN SELECT no_such_function(1); END")
    with pytest.raises(sa.exc.OperationalError) as error:
        database.insert_once(target, RowChunk("c", ["n", "day"], [[77, "2026-01-02"]]))
    assert "no_such_function" in str(error.value)
    assert "77" not in str(error.value)


# Sources.


@pytest.mark.parametrize("values", [[1, 2, 2, 3], [2, 2, 2, 3]])
def test_a_table_whose_column_repeats_a_value_is_not_read_past_it(tmp_path: Path, values: list[int]) -> None:
    url = f"sqlite:///{tmp_path}/shop.db"
    with sa.create_engine(url).begin() as on:
        on.exec_driver_sql("CREATE TABLE t (n INTEGER)")
        on.exec_driver_sql("INSERT INTO t VALUES " + ", ".join(f"({n})" for n in values))
    source = Portions("in", to="rows", format="jdbc", url=url, table="t", column="n", rows=2)
    with pytest.raises(InvalidOutcome, match="source 'in': several rows of the table t have the n 2"):
        source.turn(message({"after": None}), None)


def test_a_csv_row_that_is_longer_than_the_header_is_named_and_empty_lines_of_json_are_no_rows(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("n,name\n1,a\n2,b,c\n")
    (tmp_path / "a.json").write_text('{"n": 1}\n\n{"n": 2}\n \n')
    with pytest.raises(InvalidOutcome, match=r"row 2 of a\.csv has more values than the header has names"):
        Portions("in", to="rows", format="csv", path=tmp_path).turn(message({"file": "a.csv"}), None)
    ended = Portions("in", to="rows", format="json", path=tmp_path).turn(message({"file": "a.json"}), None)
    assert isinstance(ended, Commit)
    assert len(ended.then) == 2


def test_a_portion_whose_reader_dies_or_wakes_up_late_is_pushed_once(
    db: duerow.Database, clock: MovableClock, tmp_path: Path
) -> None:
    parquet.write_table(pa.table({"n": [*range(7)]}), tmp_path / "a.parquet", row_group_size=3)
    source = Portions("in", to="rows", format="parquet", path=tmp_path, rows=2)
    source.queue(db).push({"file": "a.parquet"}, key=key_of("a.parquet"))
    late: list[Any] = []
    while (held := source.queue(db).reserve()) is not None:
        source.settlement(held.message, 9)  # and it dies
        late.append(held)
        clock.advance(minutes(2))
        again = source.queue(db).reserve()
        assert again is not None
        settle(db, source, again)
    assert len(late) == 4
    for held in late:
        with pytest.raises(LeaseLost):
            settle(db, source, held)
    assert sorted(m.payload["n"] for m in db.queue("rows").find()) == list(range(7))
    assert source.queue(db).push({"file": "a.parquet"}, key="a.parquet").outcome == "ignored"


def test_files_of_json_lines_and_csv_keep_their_values(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"n": 1.50, "when": "2026-01-01"}\n{"n": null}\n')
    (tmp_path / "a.csv").write_text('\ufeffn,name\n007,"a\nb"\n')
    for format, expected in (
        ("json", [{"n": 1.5, "when": "2026-01-01"}, {"n": None}]),
        ("csv", [{"n": "007", "name": "a\nb"}]),
    ):
        source = Portions("in", to="rows", format=format, path=tmp_path)
        ended = source.turn(message(db_free={"file": f"a.{format}"}), None)
        assert isinstance(ended, Commit)
        assert [msgspec.json.decode(draft.payload.text) for draft in ended.then] == expected


def message(db_free: Any) -> Any:
    with duerow.connect("memory://") as db:
        db.queue("q").push(db_free)
        return db.queue("q").peek(1)[0]


def test_what_is_no_position_is_dead(tmp_path: Path) -> None:
    source = Portions("in", to="rows", format="csv", path=tmp_path)
    assert isinstance(source.turn(message("odd"), None), Bury)


# What is refused.

ARGUMENTS: list[tuple[type[Any], dict[str, Any], str]] = [
    (TableSink, {"format": "orc"}, "format must be one of parquet, delta, iceberg, jdbc, not 'orc'"),
    (TableSink, {"format": "jdbc", "table": "t"}, "needs url="),
    (TableSink, {"format": "parquet", "path": "p", "url": "u"}, "has no use for url="),
    (TableSink, {"format": "delta", "path": "p", "compact": 2}, "has no use for compact="),
    (
        TableSink,
        {"format": "parquet", "path": "p", "compact": 1},
        "compact must be a number of batches, at least 2, not 1",
    ),
    (TableSink, {"format": "jdbc", "url": "u", "table": "t", "partition_by": ["a"]}, "has no use for partition_by="),
    (TableSink, {"format": "delta", "path": "p", "partition_by": "day"}, "partition_by must be a list of columns"),
    (TableSink, {"format": "parquet", "path": "p", "partition_by": ["a", "a"]}, "partition_by names 'a' twice"),
    (
        TableSink,
        {"format": "parquet", "path": "p", "partition_by": ["_key"]},
        "'_key', which is not written to the table",
    ),
    (TableSource, {"to": "b", "format": "delta"}, "format must be one of"),
    (TableSource, {"to": "b", "format": "jdbc", "url": "u"}, "needs table= and column="),
    (TableSource, {"to": "b", "format": "csv", "path": "p", "rows": 0}, "rows must be an integer of at least 1, not 0"),
]


@pytest.mark.parametrize(("kind", "given", "why"), ARGUMENTS)
def test_arguments_that_a_format_does_not_take_are_refused_by_name(
    kind: type[Any], given: dict[str, Any], why: str
) -> None:
    with pytest.raises(ConfigurationError) as error:
        kind("a", **given)
    assert why in str(error.value)


@pytest.mark.parametrize(("format", "package"), [("delta", "deltalake"), ("iceberg", "pyiceberg")])
def test_a_missing_package_is_named_before_anything_is_reserved(
    format: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("duerow.spark.tables.job.find_spec", lambda name: None)
    given: dict[str, Any] = {"path": "p"} if format == "delta" else {"table": "x.t"}
    with pytest.raises(ConfigurationError, match=rf"package {package} here .* pip install 'duerow\[{format}\]'"):
        check_package(TableSink("a", format=format, **given))


@pytest.mark.parametrize("format", ["delta", "iceberg"])
def test_a_table_that_other_columns_divide_is_refused_before_anything_is_reserved(
    format: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With stand-ins for the packages, which are not installed here."""
    table = SimpleNamespace(metadata=lambda: SimpleNamespace(partition_columns=["shop"]))
    delta = SimpleNamespace(DeltaTable=lambda path, storage_options: table)
    delta.DeltaTable.is_deltatable = lambda path, options: True
    fields = [SimpleNamespace(source_id=1, transform="identity")]
    names = SimpleNamespace(find_column_name=lambda id: "shop")
    monkeypatch.setattr(lakes, "import_module", {"deltalake": delta}.get)
    iceberg = SimpleNamespace(spec=lambda: SimpleNamespace(fields=fields), schema=lambda: names)
    monkeypatch.setattr(lakes, "_iceberg", lambda sink: iceberg)
    given: dict[str, Any] = {"path": "p"} if format == "delta" else {"table": "x.t"}
    lakes.check_partitions_of_table(TableSink("a", format=format, partition_by=["shop"], **given))
    with pytest.raises(ConfigurationError, match="is partitioned by the columns 'shop'; partition_by names 'day'"):
        lakes.check_partitions_of_table(TableSink("a", format=format, partition_by=["day"], **given))


def test_plain_workers_refuse_table_stations(db: duerow.Database, lake: TableSink) -> None:
    pipeline = Pipeline("p", [TableSource("in", to="lake", format="csv", path="x"), lake])
    with pytest.raises(NotSupported, match=r"source 'in', table 'lake' work only on Spark"):
        pipeline.run(db)


def test_passwords_of_tables_are_not_shown() -> None:
    stations = [
        TableSink("a", format="jdbc", url="postgresql://u:secret@h/d", table="t"),
        TableSink("a", format="delta", path="s3://b/t", options={"key": "secret"}),
        TableSink("a", format="parquet", path="s3://key:secret@b/t"),
        TableSource("a", to="b", format="csv", path="s3://key:secret/with+slash@b/t"),
        TableSource("a", to="b", format="jdbc", url="postgresql://u:secret@h/d", table="t", column="id"),
    ]
    for station in stations:
        assert "secret" not in f"{station!r} {station} {station.node()}"
    assert stations[2].node().note.startswith("parquet s3://***@b/t, ")
    with pytest.raises(ConfigurationError) as error:
        Folder("odd://key:secret/with+slash@b/t")
    assert "odd://***@b/t" in str(error.value)
    assert "secret" not in str(error.value)
    with pytest.raises(ConfigurationError, match="cannot be read as an SQLAlchemy URL") as error:
        database.engine_of("jdbc:sqlserver://h:secret;databaseName=shop")
    assert "secret" not in str(error.value)
    assert error.value.__context__ is None
