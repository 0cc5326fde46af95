"""A project of Django's whose tests are those of `duerow.contrib.django`; see `tests/contrib/test_django.py`."""
