"""What of the tests on MariaDB, and of Spark's on MongoDB, `make test` leaves to the long tests.

Both faces carry out the same statements of the same plans, and SQLite and PostgreSQL keep every promise on both in each
run. What may still differ between the faces of a further family are its two drivers, and half of the promises
meets each of them often: so a promise is tried on one face, which its name picks. What is about drivers, connections
and transactions has files of its own, which run on both.
"""

from zlib import crc32

import pytest

FACES = ("sync", "async")

CHOSEN = {"crash": "any_moment", "spark": "what_the_local_twin_does"}
"""What the names of those tests have in common that `make test` runs of a slow folder."""

OF_SPARK_ON_MONGODB = (
    "what_the_local_twin_does",
    "of_two_copies_of_a_task_that_settle_one",
    "row_by_row_each_message_moves",
    "a_staged_row_goes_where_it_says",
    "has_the_messages_with_their_fields",
    "each_row_becomes_a_message",
    "from_queue_to_queue_once",
)
"""What the names have in common of those tests with Spark that `make test` runs on MongoDB: one of each kind."""

FAMILIES = {"mysql", "mariadb"}
"""What a folder or a parameter is called whose tests run on it."""


@pytest.hookimpl(tryfirst=True)  # before marks are looked at
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what is left to the long tests."""
    for item in items:
        if isinstance(item, pytest.Function) and not FAMILIES.isdisjoint([*words(item), item.path.parent.name]):
            folder, file = item.path.parent.name, item.path.name
            of_promises = folder == "entity" or file == "test_conformance.py"
            chosen = CHOSEN.get(folder, "")
            if (of_promises and is_other_face(item)) or chosen not in item.originalname:
                item.add_marker(pytest.mark.soak)
        if (
            isinstance(item, pytest.Function)
            and item.path.parent.name == "spark"
            and "mongodb" in words(item)
            and not any(name in item.originalname for name in OF_SPARK_ON_MONGODB)
        ):
            item.add_marker(pytest.mark.soak)


def is_other_face(item: pytest.Function) -> bool:
    """Return whether the test's name picks the other face; it picks the same one in every run, on every machine."""
    named = words(item)
    faces = [word for word in named if word in FACES]
    if not faces or "begin" in item.fixturenames:  # each way to hold a transaction suits one face alone
        return False
    named.remove(faces[0])
    promise = "-".join([item.originalname, *named])
    return FACES[crc32(promise.encode()) % len(FACES)] != faces[0]


def words(item: pytest.Function) -> list[str]:
    """Return what a test is given, as in its name."""
    return item.callspec.id.split("-") if hasattr(item, "callspec") else []
