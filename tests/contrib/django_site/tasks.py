"""Django's own tasks, kept in queues."""

from datetime import datetime, timedelta

from django.db import transaction
from django.test import TestCase, override_settings
from django.utils import timezone

from duerow.contrib.django import queue
from duerow.contrib.django.framework import TaskResultDoesNotExist, TaskResultStatus, task_backends
from duerow.contrib.django.testing import enqueued_tasks, run_tasks
from tests.contrib.django_site.sales import tasks

SUCCESSFUL, FAILED, READY = TaskResultStatus.SUCCESSFUL, TaskResultStatus.FAILED, TaskResultStatus.READY


class Tasks(TestCase):
    def test_a_task_waits_until_it_is_run_and_then_has_a_result(self):
        result = tasks.add.enqueue(1, b=2)
        self.assertEqual((result.status, result.args, result.kwargs), (READY, [1], {"b": 2}))
        self.assertEqual(enqueued_tasks(), [result])
        [done] = run_tasks()
        self.assertEqual((done.id, done.status, done.return_value, done.attempts), (result.id, SUCCESSFUL, 3, 1))
        self.assertTrue(done.enqueued_at <= done.started_at <= done.finished_at)
        result.refresh()
        self.assertEqual(result, done)

    def test_what_is_read_back_is_what_was_enqueued(self):
        for result in (tasks.add.enqueue(1), tasks.sell.using(priority=-5, run_after=timezone.now()).enqueue("lamp")):
            self.assertEqual(task_backends["default"].get_result(result.id), result)

    @override_settings(USE_TZ=False, TIME_ZONE="Europe/Zagreb")
    def test_moments_are_without_a_zone_where_the_projects_are(self):
        result = tasks.add.using(run_after=datetime.now() - timedelta(hours=1)).enqueue(1)
        self.assertEqual(task_backends["default"].get_result(result.id), result)
        [done] = run_tasks()
        self.assertTrue(done.enqueued_at <= done.started_at <= done.finished_at <= datetime.now())

    def test_a_coroutine_function_is_run(self):
        tasks.sell.enqueue("lamp")
        self.assertEqual([one.return_value for one in run_tasks()], ["lamp"])

    def test_a_higher_priority_goes_first(self):
        for priority in (0, -100, 100, 5):
            tasks.add.using(priority=priority).enqueue(priority)
        self.assertEqual([one.return_value for one in run_tasks()], [100, 5, 0, -100])

    def test_a_task_does_not_run_before_its_time(self):
        tasks.add.using(run_after=timezone.now() + timedelta(hours=1)).enqueue(1)
        tasks.add.using(run_after=timezone.now() - timedelta(hours=1)).enqueue(2)
        self.assertEqual([one.return_value for one in run_tasks()], [2])
        self.assertEqual(len(enqueued_tasks()), 1)

    def test_a_task_that_fails_tells_why(self):
        tasks.fail.enqueue()
        [failed] = run_tasks()
        self.assertEqual((failed.status, failed.attempts, failed.is_finished), (FAILED, 1, True))
        [error] = failed.errors
        self.assertIs(error.exception_class, ValueError)
        self.assertIn("it failed", error.traceback)
        with self.assertRaisesMessage(ValueError, "Task failed"):
            self.assertIsNone(failed.return_value)

    def test_a_result_that_is_no_json_is_a_failure(self):
        tasks.unspeakable.enqueue()
        [failed] = run_tasks()
        self.assertEqual((failed.status, failed.errors[0].exception_class), (FAILED, TypeError))

    def test_a_task_may_be_tried_again(self):
        tasks.second_time.enqueue()
        [done] = run_tasks("patient")
        self.assertEqual((done.status, done.return_value, done.attempts), (SUCCESSFUL, 2, 2))
        self.assertIs(done.errors[0].exception_class, ConnectionError)

    def test_a_task_gets_its_context(self):
        result = tasks.attempt.enqueue(["a", "b"])
        self.assertEqual([one.return_value for one in run_tasks()], [[1, result.id, ["a", "b"]]])

    def test_a_task_in_a_transaction_that_fails_is_not_enqueued(self):
        with self.assertRaises(ZeroDivisionError), transaction.atomic():
            result = tasks.add.enqueue(1)
            raise ZeroDivisionError
        with self.assertRaises(TaskResultDoesNotExist):
            tasks.add.get_result(result.id)

    def test_there_is_no_result_of_what_never_was(self):
        for id in (
            "",
            "default",
            "default:",
            ":1",
            "default:1",
            "nowhere:1",
            f"default:{1 << 70}",
            "default:-1",
            "a b:1",
        ):
            with self.subTest(id), self.assertRaises(TaskResultDoesNotExist):
                task_backends["default"].get_result(id)

    def test_a_task_that_runs_at_once_has_its_result_at_once(self):
        self.assertEqual(tasks.double.enqueue(21).return_value, 42)

    def test_a_message_that_is_no_task_is_given_up_on(self):
        queue("tasks.default").push("hello")
        run_tasks()
        self.assertEqual(queue("tasks.default").count("dead"), 1)

    def test_a_task_whose_function_is_gone_fails(self):
        result = tasks.add.enqueue(1)
        queue("tasks.default").edit(where="payload.task != ''", payload={"task": "no.such", "args": [], "kwargs": {}})
        backend = task_backends["default"]
        [turn] = [one for one in _turns(backend) if one.message.id]
        self.assertEqual((turn.ending, type(turn.error)), ("dead", ModuleNotFoundError))
        with self.assertRaises(ImportError):
            backend.get_result(result.id)


def _turns(backend):
    from duerow.testing import drain

    return drain({backend.queue("default"): backend.run})
