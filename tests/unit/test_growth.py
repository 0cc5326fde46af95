"""What grows in a long run is told from what only varies."""

from tests.growth import SAMPLES, growing


def test_a_value_that_grows_is_noticed_and_one_that_varies_is_not():
    flat = [{"memory": 50e6 + number % 5 * 1e6, "descriptors": 20.0 + number % 2} for number in range(SAMPLES)]
    assert growing(flat) == {}
    leaking = [{**one, "descriptors": 20.0 + 5 * number} for number, one in enumerate(flat)]
    assert set(growing(leaking)) == {"descriptors"}
    fat = [{**one, "memory": 50e6 + number * 3e6} for number, one in enumerate(flat)]
    assert set(growing(fat)) == {"memory"}
