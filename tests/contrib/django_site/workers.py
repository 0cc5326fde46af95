"""Workers of a Django project."""

import os
import socket
from datetime import timedelta
from io import StringIO
from tempfile import TemporaryDirectory
from unittest.mock import patch

from django.core.management import CommandError, call_command
from django.db import connection, connections

from duerow import Worker
from duerow.contrib.django import database, queue
from duerow.contrib.django.conf import django_settings
from duerow.contrib.django.database import _OPENED
from duerow.contrib.django.testing import EmptyQueues
from duerow.contrib.django.workers import django_connections
from tests.contrib.django_site.sales.models import Order
from tests.contrib.django_site.sales.queues import ledger, mail
from tests.contrib.django_site.sales.tasks import make_order, price


def run_worker(*more):
    output = StringIO()
    call_command("runworker", "--until", "idle", *more, stderr=output)
    return output.getvalue()


class Workers(EmptyQueues):
    def test_runworker_runs_handlers_and_tasks(self):
        order = Order.objects.create(item="lamp")
        mail.push({"order": order.pk})
        ledger.push({"order": order.pk})
        result, handle = make_order.enqueue("chair"), price.push("lamp")
        told = run_worker()
        self.assertIn("mail", told)
        order.refresh_from_db()
        result.refresh()
        self.assertEqual((order.mailed, mail.count(), ledger.count()), (2, 0, 0))
        self.assertEqual(Order.objects.get(pk=result.return_value).item, "chair")
        self.assertEqual(handle.result(timeout=timedelta(0)), 1)

    def test_runworker_works_on_the_queues_that_are_named(self):
        mail.push({"order": 0})
        ledger.push({"order": 0})
        run_worker("--queue", "mail")
        self.assertEqual((mail.count(), ledger.count()), (0, 1))

    def test_runworker_runs_handlers_of_other_databases(self):
        with TemporaryDirectory() as folder:
            self.addCleanup(lambda: (connections.databases.pop("other"), delattr(connections._connections, "other")))
            connections.databases["other"] = {
                **connections.databases["default"],
                "ENGINE": "django.db.backends.sqlite3",
                "NAME": f"{folder}/other.db",
            }
            archive, handled = queue("archive", using="other"), []
            self.addCleanup(lambda: _OPENED.pop(("other", django_settings())))
            archive.handler(lambda message: handled.append(message.payload))
            with self.assertRaisesMessage(CommandError, "database('other').migrate()"):
                run_worker()
            database("other").migrate()
            archive.push("a")
            mail.push({"order": 0})
            told = run_worker("--queue", "archive")
            self.assertEqual((handled, archive.count(), mail.count()), (["a"], 0, 1))
            self.assertIn("is working on archive", told)
            database("other").close()

    def test_systemd_and_a_file_are_told_how_the_workers_are(self):
        with TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as heard:
            heard.bind(f"{folder}/notify")
            with patch.dict(os.environ, NOTIFY_SOCKET=f"{folder}/notify"):
                run_worker("--health-file", f"{folder}/health")
            told = [heard.recv(4096).decode().splitlines()]
            while told[-1] != ["STOPPING=1"]:
                told.append(heard.recv(4096).decode().splitlines())
            self.assertEqual(("WATCHDOG=1" in told[0], os.listdir(folder)), (True, ["notify"]))

    def test_runworker_says_which_queue_nobody_handles(self):
        with self.assertRaisesMessage(CommandError, "no app has a handler, tasks or a task backend for mial"):
            run_worker("--queue", "mial")

    def test_a_transactional_handler_writes_with_djangos_orm_exactly_once(self):
        order = Order.objects.create(item="lamp")
        ledger.push({"order": order.pk, "fails": True})
        attempts = []

        def book(message, given):
            attempts.append(given is connection or given.alias == connection.alias)
            Order.objects.filter(pk=message.payload["order"]).update(mailed=len(attempts))
            if len(attempts) == 1:
                raise ConnectionError("after the write")

        queue = database().queue("ledger", retry=lambda *given: ledger.lease * 0)
        Worker(queue, book, transactional=True, middleware=[django_connections]).run("empty")
        order.refresh_from_db()
        self.assertEqual((attempts, order.mailed, ledger.count()), ([True, True], 2, 0))

    def test_what_a_transactional_handler_wrote_before_it_failed_is_gone(self):
        order = Order.objects.create(item="lamp")
        ledger.push({"order": order.pk, "fails": True})
        queue = database().queue("ledger", retry=lambda *given: None)
        Worker(queue, ledger.handled_by.function, transactional=True).run("empty")
        order.refresh_from_db()
        self.assertEqual((order.mailed, ledger.count("dead")), (0, 1))
