"""Django's own tests of its task backends, with duerow's in place of Django's two: `… djangos_tests FOLDER`.

FOLDER is the folder `tests` of Django's source. Its tests are of the backends that come with Django, so each of these
is replaced by one of duerow's that does the same: collect what is enqueued, or run it at once. The few tests that say
what those two cannot do, or how the first one is made inside, are left out.
"""

import os
import sys

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.contrib.django_site.settings")
os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"  # some of these coroutines call what blocks

import django

django.setup()

from django.conf import settings  # noqa: E402
from django.tasks.backends import dummy, immediate  # noqa: E402
from django.test import SimpleTestCase  # noqa: E402
from django.test.runner import DiscoverRunner  # noqa: E402

from duerow.contrib.django.tasks import DuerowBackend  # noqa: E402
from duerow.contrib.django.testing import empty_queues, enqueued_tasks  # noqa: E402

LEFT_OUT = {
    "DummyBackendTestCase.test_refresh_result": "changes what is in the other backend's list, and expects to read that",
    "DummyBackendTestCase.test_refresh_result_async": "likewise",
    "ImmediateBackendTestCase.test_cannot_get_result": "duerow's can",
    "ImmediateBackendTestCase.test_cannot_refresh_result": "duerow's can",
    "ImmediateBackendTestCase.test_cannot_pass_run_after": "duerow's can",
}


class Collecting(DuerowBackend):
    """In place of DummyBackend."""

    @property
    def results(self):
        return enqueued_tasks(self.alias, *(self.queues or self._queues))

    def clear(self):
        empty_queues()


class AtOnce(DuerowBackend):
    """In place of ImmediateBackend."""

    at_once = True


class Runner(DiscoverRunner):
    """Leaves out those tests."""

    def build_suite(self, *args, **kwargs):
        suite = super().build_suite(*args, **kwargs)
        kept = [test for test in suite if ".".join(test.id().split(".")[-2:]) not in LEFT_OUT]
        print(f"left out {suite.countTestCases() - len(kept)} of {suite.countTestCases()}", file=sys.stderr)
        return type(suite)(kept)


if __name__ == "__main__":
    sys.path.insert(0, sys.argv[1])
    dummy.DummyBackend, immediate.ImmediateBackend = Collecting, AtOnce
    SimpleTestCase.databases = frozenset({"default"})
    print("Django", django.get_version(), "on", settings.DATABASES["default"]["ENGINE"], file=sys.stderr)
    sys.exit(bool(Runner(verbosity=1, interactive=False).run_tests(["tasks"])))
