"""MariaDB keeps every promise."""

from tests.stores.reference import promises

globals().update(promises())
