"""The mutations can be made in the sources as they are; `make mutate` shows that the suite notices each."""

from pathlib import Path

import pytest

import duerow
from tests.mutations.seeds import STORES

PACKAGE = Path(duerow.__file__).parent


@pytest.mark.parametrize(
    "mutation",
    [pytest.param(one, id=f"{store}: {one.says}") for store, seeds in STORES.items() for one in seeds],
)
def test_a_mutation_still_changes_the_source_that_it_was_seeded_in(mutation):
    source = (PACKAGE / mutation.file).read_text()
    assert mutation.applied(source) != source


@pytest.mark.parametrize("store", STORES)
def test_ten_mutations_are_seeded_in_each_store(store):
    assert len({one.says for one in STORES[store]}) >= 10
