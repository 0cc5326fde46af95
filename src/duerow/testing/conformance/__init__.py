"""The conformance suite: the promises of every store as tests, in one file for each promise.

A store's tests define where the queues of a test live, and include the suite:

    # conftest.py at the root of the tests
    pytest_plugins = ["duerow.testing.conformance.fixtures"]

    # tests/mystore/conftest.py
    @pytest.fixture
    def place(tmp_path: Path) -> Place:
        return Place(f"mystore:///{tmp_path}/queues")

    # tests/mystore/test_conformance.py
    from duerow.testing.conformance import promises
    globals().update(promises())

Every test runs with the blocking and the async API; tests of workers, in the files whose names begin with `worker_`,
run with threads and with asyncio tasks. `duerow.testing.conformance.fixtures` lists the fixtures that a store may
replace. If a promise needs a capability that the store lacks, its tests expect a refusal before anything changes.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable
from importlib import import_module


def promises() -> dict[str, Callable[..., None]]:
    """Return all tests of the suite, by name."""
    found: dict[str, Callable[..., None]] = {}
    for module in pkgutil.iter_modules(__path__):
        for name, test in vars(import_module(f"{__name__}.{module.name}")).items():
            if name.startswith("test_"):
                if name in found:
                    raise TypeError(f"two promises are called {name}: in {found[name].__module__} and {module.name}")
                found[name] = test
    return found
