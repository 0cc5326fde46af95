"""What Spark's pages call the jobs of a run, and how they are cancelled."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from pyspark.sql import SparkSession

import duerow
from duerow import Frame, Join, Pipeline, Relay, spark
from duerow.spark import probe
from duerow.spark.labels import cancel, labelled
from duerow.testing.conformance.fixtures import Place
from tests.spark.test_stations import found, pushed

ONE_DATABASE = pytest.mark.parametrize("place", ["postgresql"], indirect=True)


def described(session: SparkSession, kind: str) -> dict[int, str | None]:
    """What Spark's pages call each job, stage or query, by its id."""
    context: Any = session.sparkContext
    java = context._jvm.scala.jdk.javaapi.CollectionConverters
    store = context._jsc.sc().statusStore()
    if kind == "job":
        return {one.jobId(): _text(one.description()) for one in java.asJava(store.jobsList(None))}
    empty = context._jvm.java.util.ArrayList()
    stages = store.stageList(empty, False, False, context._gateway.new_array(context._jvm.double, 0), empty)
    ran = [one for one in java.asJava(stages) if one.status().toString() != "SKIPPED"]
    return {one.stageId(): _text(one.description()) for one in ran}


def _text(option: Any) -> str | None:
    return option.get() if option.isDefined() else None


@ONE_DATABASE
def test_jobs_and_stages_are_called_by_their_stations(
    session: SparkSession, place: Place, db: duerow.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probe, "_reached", probe.WeakKeyDictionary())
    before = {kind: described(session, kind) for kind in ("job", "stage")}
    pushed(db, "a", 6)
    pipeline = Pipeline(
        "p",
        [
            Relay("a", lambda m: m.payload, to="b"),
            Frame("b", lambda frame: frame.groupBy("n").count().select("n"), to="c", schema="n long"),
            Join("c", lambda parts: parts[0].payload, to="d", by="payload.n", count=1),
        ],
        outputs=["d"],
    )

    spark.run(pipeline, place.url, session, **place.settings)

    assert len(found(db, "d")) == 6
    for kind, known in before.items():
        names = {name for id, name in described(session, kind).items() if id not in known}
        assert names == {
            "duerow: check of the executors",
            "relay 'a', join 'c' of pipeline 'p'",
            "frame 'b' of pipeline 'p': check of its types",
            "frame 'b' of pipeline 'p': 6 messages",
        }, kind


def test_a_label_ends_with_its_block_and_brings_back_the_users_own(session: SparkSession) -> None:
    session.sparkContext.setLocalProperty("spark.job.description", "mine")
    with labelled(session, "ours", "tag"):
        session.range(1).collect()
        assert set(session.sparkContext.getJobTags()) == {"tag"}
    session.range(1).collect()
    session.sparkContext.setLocalProperty("spark.job.description", None)  # type: ignore[arg-type]
    assert [name for _, name in sorted(described(session, "job").items())][-2:] == ["ours", "mine"]
    assert not set(session.sparkContext.getJobTags())


def test_jobs_are_cancelled_by_their_tag_from_another_thread(session: SparkSession) -> None:
    failed: list[BaseException] = []
    begun = threading.Event()

    def hanging(batches: Any) -> Any:
        threading.Event().wait()
        yield from batches

    def work() -> None:
        try:
            with labelled(session, "a job that hangs", "hanging"):
                begun.set()
                session.range(0, 1, 1, 1).mapInArrow(hanging, "id long").collect()
        except Exception as error:
            failed.append(error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    begun.wait()
    while thread.is_alive():  # the job may not have begun yet
        cancel(session, "hanging")
        thread.join(0.1)
    assert "cancelled" in str(failed[0]).lower()
