"""Arrow's arrays made by hand are those that PyArrow would make."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from duerow.arrow import arrays

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)


@given(st.lists(st.none() | TEXT, max_size=40))
def test_texts_are_those_of_a_list(values: list[str | None]) -> None:
    made = arrays.texts(values)
    made.validate(full=True)
    assert made.equals(pa.array(values, pa.string()))


@given(st.lists(st.lists(st.tuples(TEXT, TEXT), max_size=4), max_size=20))
def test_maps_are_those_of_a_list_of_pairs(values: list[list[tuple[str, str]]]) -> None:
    made = arrays.maps(values)
    made.validate(full=True)
    assert made.equals(pa.array(values, pa.map_(pa.string(), pa.string())))


@pytest.mark.parametrize("value", [0, -(2**63), 2**63 - 1, "", "Žofka", True, 1.5, None])
def test_one_value_is_an_array(value: object) -> None:
    made = arrays.one(value)
    made.validate(full=True)
    assert made.equals(pa.array([value]))
