"""Run the tests of the project, with Django's own runner: `python -m tests.contrib.django_site [LABEL...]`."""

import os
import sys

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.contrib.django_site.settings")

import django

django.setup()

from django.conf import settings  # noqa: E402
from django.test.utils import get_runner  # noqa: E402

MODULES = ("pages", "tasks", "transactions", "workers")

if __name__ == "__main__":
    labels = sys.argv[1:] or [f"tests.contrib.django_site.{name}" for name in MODULES]
    print("Django", django.get_version(), "on", settings.DATABASES["default"]["ENGINE"], file=sys.stderr)
    sys.exit(bool(get_runner(settings)(verbosity=1, interactive=False).run_tests(labels)))
