"""The settings of the project; the database is told by an environment variable, as JSON."""

import json
import os

from examples.django_shop.shop.settings import MIDDLEWARE as MIDDLEWARE
from examples.django_shop.shop.settings import TEMPLATES as TEMPLATES

SECRET_KEY = "a secret"
USE_TZ = True
INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "duerow.contrib.django",
    "tests.contrib.django_site.sales",
]
ROOT_URLCONF = "tests.contrib.django_site.urls"
if "mysql" in os.environ["DUEROW_TEST_DJANGO"]:
    import pymysql

    pymysql.version_info = (2, 2, 1, "final", 0)  # Django asks for a version of mysqlclient
    pymysql.install_as_MySQLdb()
DATABASES = {"default": json.loads(os.environ["DUEROW_TEST_DJANGO"])}
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
LOGIN_URL = "/admin/login/"
TASKS = {
    "default": {
        "BACKEND": "duerow.contrib.django.tasks.DuerowBackend",
        "QUEUES": ["default", "mail"],
        "OPTIONS": {"PREFIX": "tasks."},
    },
    "patient": {
        "BACKEND": "duerow.contrib.django.tasks.DuerowBackend",
        "QUEUES": ["patient"],
    },
    "at_once": {
        "BACKEND": "duerow.contrib.django.tasks.DuerowBackend",
        "QUEUES": [],
        "OPTIONS": {"PREFIX": "at-once.", "AT_ONCE": True},
    },
}

import duerow  # noqa: E402
from duerow.testing.clock import minutes  # noqa: E402

TASKS["patient"]["OPTIONS"] = {"RETRY": duerow.limited(3, duerow.fixed(minutes(0)))}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
STATIC_URL = "/static/"
