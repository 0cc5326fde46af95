"""A plugin of pytest for mutants: the same few examples each time, and no time lost with tests that are not run."""

import pytest
from hypothesis import settings


def pytest_configure(config: pytest.Config) -> None:
    """Ask for whole functions: the second collection in a process does not find some examples by their names."""
    if all("::" in argument for argument in config.args):
        config.args = list(dict.fromkeys(argument.partition("[")[0] for argument in config.args))


def pytest_collection_modifyitems() -> None:
    """Replace the profile of Hypothesis that tests/conftest.py has loaded."""
    settings.register_profile("mutants", settings.default, derandomize=True, database=None, max_examples=15)
    settings.load_profile("mutants")


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makeitem(collector: pytest.Module, name: str) -> list[pytest.Item] | None:
    """Pass over the thousands of tests of a file that a mutant's list does not name."""
    arguments = collector.config.args
    if not name.startswith("test_") or not all("::" in argument for argument in arguments):
        return None
    return None if name in {argument.partition("::")[2] for argument in arguments} else []
