"""A site of Django's with a person of its staff, a stranger and a customer; each looks at the queues."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import django
import httpx
from django.conf import settings
from django.core.management import call_command

settings.configure(
    SECRET_KEY="a secret",
    ALLOWED_HOSTS=["*"],
    INSTALLED_APPS=["django.contrib.auth", "django.contrib.contenttypes", "django.contrib.sessions"],
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": Path.cwd() / "site.db"}},
    ROOT_URLCONF=__name__,
)
urlpatterns: list[Any] = []
django.setup()


def session_of(name: str, is_staff: bool) -> str:
    """Make a user that has logged in; return the key of the session."""
    from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
    from django.contrib.auth.models import User
    from django.contrib.sessions.backends.db import SessionStore

    user = User(username=name, is_staff=is_staff, password="!")
    user.save()
    session = SessionStore()
    session[SESSION_KEY], session[HASH_SESSION_KEY] = str(user.pk), user.get_session_auth_hash()
    session[BACKEND_SESSION_KEY] = "django.contrib.auth.backends.ModelBackend"
    session.create()
    return str(session.session_key)


async def look(keys: list[str]) -> list[Any]:
    """Return what each sees."""
    sys.path.insert(0, str(Path.cwd()))
    import in_django

    seen: list[Any] = []
    transport = httpx.ASGITransport(in_django.app, client=("10.0.0.7", 1))
    async with httpx.AsyncClient(transport=transport, base_url="http://shop.example") as browser:
        for key in keys:
            found = await browser.get("/queues/api/v1/queues", headers={"Cookie": f"sessionid={key}"})
            seen.append(found.json().get("queues", found.status_code))
        assert (await browser.get("/nothing")).status_code == 404  # Django's
    await in_django.queues.close()
    return seen


if __name__ == "__main__":
    call_command("migrate", verbosity=0)
    print(asyncio.run(look(["", session_of("ana", True), session_of("carl", False)])))
