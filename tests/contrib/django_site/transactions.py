"""Queues take part in Django's transactions, in tests and outside of them."""

import asyncio
from datetime import timedelta

from django.core.exceptions import SynchronousOnlyOperation
from django.db import connection, transaction
from django.db.transaction import TransactionManagementError
from django.test import TestCase, override_settings

from duerow.contrib.django import database, queue
from duerow.contrib.django.checks import check_database
from duerow.contrib.django.testing import EmptyQueues, close_queues, empty_queues, run_handlers
from duerow.errors import SchemaOutdated
from duerow.testing import assert_pushed, like
from tests.contrib.django_site.sales.models import Order
from tests.contrib.django_site.sales.queues import ledger, mail
from tests.contrib.django_site.sales.tasks import price, total, typed


class TestsOwnTransaction(TestCase):
    def test_what_is_pushed_in_a_test_is_seen_by_it(self):
        mail.push({"order": 1})
        assert_pushed(mail, like({"order": 1}))
        self.assertEqual((mail.count(), database().queues()), (1, ["mail"]))

    def test_what_another_test_has_pushed_is_gone(self):
        self.assertEqual(mail.count(), 0)
        mail.push({"order": 2})
        self.assertEqual(mail.count(), 1)

    def test_handlers_run_on_what_a_test_has_made(self):
        order = Order.objects.create(item="lamp")
        mail.push({"order": order.pk})
        self.assertEqual([turn.ending for turn in run_handlers()], ["done"])
        order.refresh_from_db()
        self.assertEqual((order.mailed, mail.count()), (1, 0))

    def test_what_a_handler_raises_is_raised_in_the_test(self):
        mail.push({"fails": True})
        with self.assertRaises(ConnectionError):
            run_handlers()

    def test_a_rolled_back_savepoint_takes_its_messages_along(self):
        mail.push({"order": 1})
        with self.assertRaises(ZeroDivisionError), transaction.atomic():
            mail.push({"order": 2})
            raise ZeroDivisionError
        self.assertEqual([message.payload["order"] for message in mail.find()], [1])

    def test_a_message_is_changed_popped_and_removed_in_it_too(self):
        mail.push_many([])
        ids = [mail.push({"order": n}, key=f"k{n}").id for n in range(3)]
        self.assertTrue(mail.edit(ids[0], headers={"seen": True}))
        self.assertTrue(mail.remove(key="k1"))
        self.assertEqual(mail.pop().payload, {"order": 0})
        self.assertEqual([message.id for message in mail.find()], [ids[2]])

    def test_a_schedule_and_a_declaration_are_rolled_back_with_it(self):
        database().schedule("nightly", cron="0 3 * * *", queue="mail", payload={})
        ledger.declare()
        self.assertEqual([one.name for one in database().definitions()], ["ledger"])


class TypedTasks(TestCase):
    """`duerow.Tasks` of the project's database."""

    def test_a_task_is_pushed_and_run_in_the_transaction_of_the_test(self):
        Order.objects.create(item="lamp")
        handle = price.push("lamp", count=3)
        with self.assertRaises(ZeroDivisionError), transaction.atomic():
            price.push("chair")
            raise ZeroDivisionError
        self.assertEqual([turn.message.kind for turn in run_handlers()], ["price"])
        self.assertEqual(handle.result(timeout=timedelta(0)), 3)

    def test_a_batch_calls_back_when_handlers_run(self):
        Order.objects.create(item="lamp")
        batch = typed.push_batch([price.draft("lamp", count=3), price.draft("chair")], then=total)
        run_handlers()
        self.assertEqual([one.result(timeout=timedelta(0)) for one in batch.handles], [3, 0])
        self.assertEqual(Order.objects.latest("pk").item, "3 in all")


class RealTransactions(EmptyQueues):
    def test_a_push_inside_atomic_is_committed_with_the_rows(self):
        with transaction.atomic():
            order = Order.objects.create(item="lamp")
            mail.push({"order": order.pk})
        self.assertEqual([message.payload["order"] for message in mail.find()], [order.pk])

    def test_a_push_inside_atomic_is_rolled_back_with_the_rows(self):
        with self.assertRaises(ZeroDivisionError), transaction.atomic():
            order = Order.objects.create(item="lamp")
            mail.push({"order": order.pk})
            raise ZeroDivisionError
        self.assertEqual((mail.count(), Order.objects.count()), (0, 0))

    def test_a_push_outside_of_atomic_is_there_at_once(self):
        mail.push({"order": 1})
        self.assertFalse(connection.in_atomic_block)
        self.assertEqual(mail.count(), 1)

    def test_in_a_transaction_that_can_only_be_rolled_back_nothing_is_done(self):
        with transaction.atomic():
            transaction.set_rollback(True)
            with self.assertRaises(TransactionManagementError):
                mail.push({"order": 1})
        self.assertEqual(mail.count(), 0)

    def test_within_another_connection_goes_before(self):
        with transaction.atomic():
            self.assertEqual(mail.push({"order": 1}, within=connection).outcome, "created")

    def test_the_queues_are_emptied_between_tests(self):
        mail.push({"order": 1})
        empty_queues()
        self.assertEqual((mail.count(), database().known_queues()), (0, []))

    def test_a_blocking_call_in_a_coroutine_is_refused_as_the_orm_does(self):
        async def view():
            mail.push({"order": 1})

        with self.assertRaisesMessage(SynchronousOnlyOperation, "sync_to_async"):
            asyncio.run(view())

    @override_settings(DUEROW={"ENCRYPTION": "tests.contrib.django_site.keys.encryption"})
    def test_payloads_are_encrypted_with_the_keys_of_the_settings(self):
        secret = queue("secret")
        with transaction.atomic():
            secret.push({"card": "4711"})
        self.assertEqual(secret.pop().payload, {"card": "4711"})
        secret.push({"card": "4711"})
        with connection.cursor() as cursor:
            cursor.execute("SELECT payload FROM duerow_message")
            self.assertNotIn("4711", str(cursor.fetchall()))
        close_queues()

    @override_settings(DUEROW={"PREFIX": "elsewhere_"})
    def test_a_project_without_the_tables_is_told_to_make_them(self):
        with self.assertRaisesMessage(SchemaOutdated, "elsewhere_"):
            queue("mail").push(1)
        [found] = check_database(databases=["default"])
        self.assertEqual((found.id, found.hint), ("duerow.W002", "Run manage.py migrate."))
        close_queues()

    def test_a_queue_is_the_same_handle_of_one_database(self):
        self.assertIs(queue("mail").database, queue("ledger").database)
