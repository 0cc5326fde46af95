"""Checks, migrations, the admin and the dashboard."""

import re
from io import StringIO
from unittest import mock

from asgiref.sync import sync_to_async
from django.contrib.auth.models import Permission, User
from django.core.management import call_command
from django.db import connection, transaction
from django.test import TestCase, override_settings

import duerow
from duerow.contrib.django import database, url
from duerow.contrib.django.checks import check_database, check_settings, check_tasks
from duerow.contrib.django.migrations import __name__ as migrations
from duerow.contrib.django.testing import EmptyQueues
from duerow.errors import SchemaOutdated
from duerow.stores.sql.migrations import MIGRATIONS
from tests.contrib.django_site.sales.queues import mail


class Checks(TestCase):
    def test_a_project_that_is_right_passes(self):
        call_command("check", databases=["default"], fail_level="WARNING")
        self.assertEqual(check_database(databases=["default"]), [])

    def test_each_setting_that_cannot_be_is_named(self):
        for said, text in (
            ({"DATABSE": "default"}, "has no DATABSE"),
            ({"DATABASE": "other"}, "no such alias"),
            ({"ENCRYPTION": "no.such.thing"}, "cannot be imported"),
            (["default"], "must be a dictionary"),
        ):
            with self.subTest(said), override_settings(DUEROW=said):
                [found] = check_settings()
                self.assertIn(text, found.msg)

    def test_each_task_option_that_cannot_be_is_named(self):
        from duerow.contrib.django.tasks import DuerowBackend

        for params, text in (
            ({"QUEUES": ["a b"]}, "cannot be called"),
            ({"OPTIONS": {"KEEP": 1}}, "has no option KEEP"),
            ({"OPTIONS": {"LEASE": 60}}, "timedelta"),
        ):
            with self.subTest(params):
                [found] = DuerowBackend("default", params).check()
                self.assertIn(text, found.msg)
        self.assertEqual(DuerowBackend("default", {}).check(), [])

    def test_tasks_that_nothing_would_run_are_found(self):
        self.assertEqual(check_tasks(), [])
        with (
            mock.patch("django.VERSION", (5, 2, 0, "final", 0)),
            mock.patch("duerow.contrib.django.checks.find_spec") as find_spec,
        ):
            find_spec.return_value = None
            [found] = check_tasks()
            self.assertIn("pip install django-tasks", found.hint)
            with override_settings(TASKS={"default": {"BACKEND": "elsewhere.Backend"}}):
                self.assertEqual(check_tasks(), [])

    def test_a_project_without_the_app_is_told_to_add_it(self):
        with override_settings(DUEROW={"PREFIX": "missing_"}):
            told = "are missing, or older than this duerow: run manage"
            with self.assertRaisesMessage(SchemaOutdated, told), transaction.atomic():  # which PostgreSQL aborts
                database().queue("mail").count()
            with mock.patch("django.apps.apps.is_installed", return_value=False):
                told = "add 'duerow.contrib.django' to INSTALLED_APPS, and run manage.py migrate"
                with self.assertRaisesMessage(SchemaOutdated, told), transaction.atomic():
                    database().queue("mail").count()


class Migrations(EmptyQueues):
    def test_djangos_migrations_stand_for_all_of_duerows(self):
        """When duerow gets a migration, add one with MigrateQueues(its number) to duerow.contrib.django."""
        from importlib import import_module

        module = import_module(f"{migrations}.0001_initial")
        self.assertEqual(module.Migration.operations[0].version, len(MIGRATIONS))

    def test_models_and_migrations_agree(self):
        call_command("makemigrations", "duerow", check=True, dry_run=True, stdout=StringIO())

    def test_the_tables_are_there_and_the_sql_can_be_read(self):
        database().run(database().store.schema.check)
        out = StringIO()
        call_command("sqlmigrate", "duerow", "0001", stdout=out)
        self.assertRegex(out.getvalue(), "CREATE TABLE (IF NOT EXISTS )?duerow_message")


class Pages(TestCase):
    @classmethod
    def setUpTestData(cls):
        cls.boss = User.objects.create_superuser("boss", password="x")
        cls.clerk = User.objects.create_user("clerk", password="x", is_staff=True)
        cls.viewer = User.objects.create_user("viewer", password="x", is_staff=True)
        cls.viewer.user_permissions.add(Permission.objects.get(codename="view_queues"))

    def test_the_admin_lists_the_queues_and_leads_to_the_dashboard(self):
        mail.push({"order": 1})
        self.client.force_login(self.boss)
        self.assertContains(self.client.get("/admin/"), "/admin/duerow/queuesummary/")
        page = self.client.get("/admin/duerow/queuesummary/")
        self.assertContains(page, 'href="/queues/queues/mail"')
        self.assertContains(page, "<td>1</td>")

    def test_who_has_no_permission_sees_nothing_of_queues(self):
        self.client.force_login(self.clerk)
        self.assertNotContains(self.client.get("/admin/"), "queuesummary")
        self.assertEqual(self.client.get("/admin/duerow/queuesummary/").status_code, 403)
        self.assertEqual(self.client.get("/queues/").status_code, 403)

    def test_who_may_view_sees_the_page(self):
        self.client.force_login(self.viewer)
        self.assertEqual(self.client.get("/admin/duerow/queuesummary/").status_code, 200)

    def test_who_is_nobody_is_sent_to_the_login(self):
        self.assertRedirects(self.client.get("/queues/"), "/admin/login/?next=/queues/", fetch_redirect_response=False)

    @override_settings(LOGIN_URL="/accounts/login/")
    def test_in_a_new_project_the_login_is_the_admins(self):
        self.assertRedirects(self.client.get("/queues/"), "/admin/login/?next=/queues/")

    @override_settings(LOGIN_URL="/accounts/login/", ROOT_URLCONF="tests.contrib.django_site.own_login")
    def test_a_login_page_at_djangos_default_address_is_used(self):
        self.assertRedirects(
            self.client.get("/queues/"), "/accounts/login/?next=/queues/", fetch_redirect_response=False
        )

    @override_settings(LOGIN_URL="/enter/")
    def test_the_projects_login_is_used_whatever_it_is(self):
        self.assertRedirects(self.client.get("/queues/"), "/enter/?next=/queues/", fetch_redirect_response=False)


class Dashboard(EmptyQueues):
    def setUp(self):
        self.boss = User.objects.create_superuser("boss", password="x")
        self.viewer = User.objects.create_user("viewer", password="x")
        self.viewer.user_permissions.add(Permission.objects.get(codename="view_queues"))

    def test_the_dashboard_is_among_the_projects_pages(self):
        mail.push({"order": 1})
        self.client.force_login(self.boss)
        page = self.client.get("/queues/")
        self.assertContains(page, "mail")
        self.assertContains(self.client.get("/queues/queues/mail"), "order")
        self.assertIn("mail", self.client.get("/queues/api/v1/queues").json()["queues"])
        self.assertEqual(self.client.get("/queues/nothing-here").status_code, 404)

    def test_the_pages_are_live(self):
        mail.push({"order": 1})
        self.client.force_login(self.boss)
        [live] = re.findall(r'sse-connect="([^"]*)"', self.client.get("/queues/").content.decode())
        answer = self.client.get(live)
        self.assertEqual((answer.streaming, answer["Content-Type"].partition(";")[0]), (True, "text/event-stream"))
        self.assertIn(b"retry:", next(iter(answer.streaming_content)))
        answer.close()

    async def test_the_pages_are_live_on_an_asgi_server_too(self):
        await sync_to_async(mail.push)({"order": 1})
        await self.async_client.aforce_login(self.boss)
        page = await self.async_client.get("/queues/")
        [live] = re.findall(r'sse-connect="([^"]*)"', page.content.decode())
        answer = await self.async_client.get(live)
        async for chunk in answer.streaming_content:
            self.assertIn(b"retry:", chunk)
            break

    def test_an_operator_presses_the_buttons(self):
        mail.push({"order": 1})
        self.client.force_login(self.boss)
        page = self.client.get("/queues/queues/mail").content.decode()
        [token] = set(re.findall(r'name="csrf_token" value="([^"]*)"', page))
        pause = "/queues/queues/mail/pause"
        self.assertEqual(self.client.post(pause, {"csrf_token": "forged"}).status_code, 403)
        self.assertFalse(mail.stats().paused)
        answer = self.client.post(pause, {"csrf_token": token})
        self.assertEqual((answer.status_code, answer["Location"].partition("?")[0]), (303, "/queues/queues/mail"))
        self.assertTrue(mail.stats().paused)

    def test_a_viewer_may_look_but_not_touch(self):
        mail.push({"order": 1})
        self.client.force_login(self.viewer)
        self.assertIn("mail", self.client.get("/queues/api/v1/queues").json()["queues"])
        self.assertEqual(self.client.post("/queues/api/v1/queues/mail/pause").status_code, 403)


class Urls(TestCase):
    def test_the_url_leads_to_the_same_database(self):
        if connection.vendor == "sqlite" and "mode=memory" in url():
            self.assertIn("cache=shared", url())
        else:
            with duerow.connect(url()) as other:
                self.assertEqual(other.known_queues(), [])
