"""What every store promises, one file for each promise, as tests that any store can be put through.

A store's tests say where the queues of one test are to live, and take the suite in:

    # conftest.py at the root of the tests
    pytest_plugins = ["duerow.testing.conformance.fixtures"]

    # tests/mystore/conftest.py
    @pytest.fixture
    def place(tmp_path: Path) -> Place:
        return Place(f"mystore:///{tmp_path}/queues")

    # tests/mystore/test_conformance.py
    from duerow.testing.conformance import promises
    globals().update(promises())

Every test runs on the blocking and on the awaited face; those of workers, in the files that begin with `worker_`,
with threads and with tasks. `duerow.testing.conformance.fixtures` says which fixtures a store may give instead of the
defaults. Promises that rest on a capability which the store says it has not are tested to be refused before anything
changes.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable
from importlib import import_module


def promises() -> dict[str, Callable[..., None]]:
    """Return every test of the suite by its name."""
    found: dict[str, Callable[..., None]] = {}
    for module in pkgutil.iter_modules(__path__):
        for name, test in vars(import_module(f"{__name__}.{module.name}")).items():
            if name.startswith("test_"):
                if name in found:
                    raise TypeError(f"two promises are called {name}: in {found[name].__module__} and {module.name}")
                found[name] = test
    return found
