"""Nobody gets in without an account, or does more than its roles allow: each way is tried, and stays shut."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path
from typing import Any

import httpx
import pytest
from argon2 import extract_parameters
from argon2.exceptions import VerifyMismatchError
from argon2.profiles import RFC_9106_LOW_MEMORY
from itsdangerous import URLSafeTimedSerializer

from duerow import aio
from duerow.errors import ConfigurationError
from duerow.web import Account, Accounts, AccountsFile, TrustedProxy, Viewer, application, hash_password
from duerow.web.security import accounts as keeping
from duerow.web.security.accounts import save_account
from duerow.web.security.sessions import COOKIE
from duerow.web.security.viewer import roles_of
from tests.web.conftest import HASH, QUEUES, TOKEN, Opened, form_token, logged_in, push_to

# Without authentication.


@pytest.mark.parametrize("address", ["10.0.0.7", "192.168.1.1", "2001:db8::1", "", "::ffff:10.0.0.7"])
async def test_without_users_no_other_machine_is_answered(memory: aio.Database, opened: Opened, address: str):
    refused = await opened(memory, address=address).get(QUEUES)
    assert (refused.status_code, refused.json()["type"]) == (403, "urn:duerow:problem:local-only")


@pytest.mark.parametrize("header", ["X-Forwarded-For", "Forwarded", "X-Real-IP", "Via", "X-Forwarded-Host"])
async def test_without_users_a_proxy_of_this_machine_lets_nobody_in(memory: aio.Database, opened: Opened, header: str):
    assert (await opened(memory).get(QUEUES, headers={header: "127.0.0.1"})).status_code == 403


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "", "[::2]"])
async def test_a_name_that_was_bound_to_this_machine_reads_nothing(memory: aio.Database, opened: Opened, host: str):
    refused = await opened(memory).get(QUEUES, headers={"Host": host})
    assert (refused.status_code, refused.json()["type"]) == (403, "urn:duerow:problem:wrong-host")


async def test_a_name_of_ones_own_is_answered_where_it_was_given(memory: aio.Database, opened: Opened):
    browser = opened(memory, hosts=["queues.example.org"])
    assert (await browser.get(QUEUES, headers={"Host": "Queues.Example.org:8765"})).status_code == 200
    assert (await browser.get(QUEUES, headers={"Host": "other.example.org"})).status_code == 403


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Content-Type": "text/plain"},
        {"Content-Type": "application/x-www-form-urlencoded"},
    ],
)
async def test_a_page_of_another_site_changes_nothing_over_the_api(
    memory: aio.Database, opened: Opened, headers: dict[str, str]
):
    path, body = push_to("orders")
    refused = await opened(memory).post(
        path, content=json.dumps(body), headers={"Content-Type": "application/json", **headers}
    )
    assert (refused.status_code, refused.json()["type"]) == (403, "urn:duerow:problem:csrf")
    assert await memory.queue("orders").count() == 0


# Accounts.


async def test_with_users_nothing_is_said_to_those_who_have_not_logged_in(
    memory: aio.Database, opened: Opened, accounts: Accounts
):
    browser = opened(memory, users=accounts, address="10.0.0.7")
    for path in (QUEUES, "/api/v1/openapi.json", "/api/v1/audit", "/api/v1/nothing"):
        refused = await browser.get(path)
        assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer")
    page = await browser.get("/queues/orders?where=a")
    assert (page.status_code, page.headers["location"]) == (303, "/login?next=%2Fqueues%2Forders%3Fwhere%3Da")


@pytest.mark.parametrize(
    "authorization",
    [
        "Bearer",
        "Bearer ",
        "Bearer nonsense",
        f"Basic {TOKEN}",
        f"Bearer {TOKEN}x",
        f"Bearer {TOKEN[:-1]}",
        "Bearer None",
    ],
)
async def test_what_is_not_a_token_opens_nothing(
    memory: aio.Database, opened: Opened, accounts: Accounts, authorization: str
):
    assert (
        await opened(memory, users=accounts).get(QUEUES, headers={"Authorization": authorization})
    ).status_code == 401


async def test_a_token_opens_the_queues_of_its_account_alone(
    memory: aio.Database, opened: Opened, accounts: Accounts, as_shop: dict[str, str]
):
    program = opened(memory, users=accounts, headers=as_shop, address="10.0.0.7")
    path, body = push_to("orders")
    assert (await program.post(path, json=body)).status_code == 201
    path, body = push_to("mail")
    assert (await program.post(path, json=body)).status_code == 403
    assert (await program.post(f"{QUEUES}/orders/remove", json={"where": "payload = 1"})).status_code == 403
    taken = (await program.post(f"{QUEUES}/orders/reservations", json={})).json()["reservations"]
    for turn in ({"outcome": "move", "to": "mail"}, {"outcome": "commit", "then": [{"queue": "mail", "payload": 1}]}):
        body = {"turns": [{"receipt": taken[0]["receipt"], **turn}]}
        assert (await program.post(f"{QUEUES}/orders/reservations/settle", json=body)).status_code == 403
    assert (await memory.queue("orders").get(taken[0]["message"]["id"])).status == "new"


async def test_people_have_the_rights_of_their_roles_queue_by_queue(
    memory: aio.Database, opened: Opened, accounts: Accounts
):
    for queue in ("orders", "mail", "secret"):
        await memory.queue(queue).push(1)

    async def may(name: str, method: str, path: str, **more: Any) -> int:
        browser = opened(memory, users=accounts)
        assert (await logged_in(browser, name)).status_code == 303
        token = form_token(await browser.get("/login"))
        return (await browser.request(method, path, headers={"X-CSRF-Token": token}, **more)).status_code

    dry = {"where": "payload = 1", "dry_run": True}
    assert await may("vera", "GET", f"{QUEUES}/secret/stats") == 200
    assert await may("vera", "POST", f"{QUEUES}/secret/remove", json=dry) == 403
    assert await may("vera", "GET", "/api/v1/audit") == 403
    assert await may("owen", "GET", f"{QUEUES}/secret/stats") == 403
    assert await may("owen", "GET", f"{QUEUES}/nothing/stats") == 403  # whether there is one is not told either
    assert await may("owen", "POST", f"{QUEUES}/mail/remove", json=dry) == 403
    assert await may("owen", "POST", f"{QUEUES}/orders/remove", json=dry) == 200
    assert await may("ana", "POST", f"{QUEUES}/secret/remove", json=dry) == 200
    browser = opened(memory, users=accounts)
    await logged_in(browser, "owen")
    assert (await browser.get(QUEUES)).json()["queues"] == ["mail", "orders"]


async def test_the_audit_is_read_by_operators_of_all_and_changed_by_nobody(
    memory: aio.Database, opened: Opened, accounts: Accounts
):
    browser = opened(memory, users=accounts)
    await logged_in(browser, "ana")
    headers = {"X-CSRF-Token": form_token(await browser.get("/login"))}
    await memory.queue("orders").push(1)
    await browser.post(f"{QUEUES}/orders/remove", json={"where": "payload = 1"}, headers=headers)
    found = (await browser.get("/api/v1/audit")).json()["entries"]
    assert [(one["by"], one["means"], one["action"], one["queue"]) for one in found] == [
        ("ana", "session", "remove", "orders")
    ]
    path, body = push_to("duerow.audit")
    assert (await browser.post(path, json=body, headers=headers)).status_code == 403
    for verb in ("remove", "edit", "replay"):
        body = {"where": "id > 0"}
        assert (await browser.post(f"{QUEUES}/duerow.audit/{verb}", json=body, headers=headers)).status_code in (
            403,
            422,
        )
    purged = await browser.post(f"{QUEUES}/duerow.audit/purge", json={"confirm": "duerow.audit"}, headers=headers)
    assert purged.status_code == 403


def test_a_worker_that_works_through_a_server_may_hold_its_permits_and_change_none_of_the_other_own_queues():
    worker = Viewer("wanda", roles_of("worker"))
    assert worker.may("consume", "duerow/singleton/mail")
    assert worker.may("push", "duerow/singleton/mail")
    assert not worker.may("push", "duerow.audit")


async def test_a_role_that_is_none_is_refused_when_it_is_given(tmp_path: Path):
    with pytest.raises(ConfigurationError, match="no role 'admin'"):
        Accounts({"ana": Account("admin")})
    with pytest.raises(ConfigurationError, match="hash_password"):
        Accounts({"ana": Account("viewer", "in clear text")})
    with pytest.raises(ConfigurationError, match="8 to"):
        hash_password("short")


async def test_metrics_are_for_those_who_see_all_queues(
    memory: aio.Database, opened: Opened, accounts: Accounts, as_shop: dict[str, str]
):
    assert (await opened(memory, users=accounts).get("/metrics")).status_code in (303, 401)
    assert (await opened(memory, users=accounts, headers=as_shop).get("/metrics")).status_code == 403
    browser = opened(memory, users=accounts)
    await logged_in(browser, "vera")
    assert (await browser.get("/metrics")).status_code != 403


async def test_probes_are_answered_under_any_name(memory: aio.Database, opened: Opened, accounts: Accounts):
    browser = opened(memory, users=accounts, hosts=["queues.example.org"])
    for path in ("/healthz", "/readyz"):
        assert (await browser.get(path, headers={"Host": "10.0.0.7:8765"})).status_code in (200, 404)
    assert (await browser.get("/login", headers={"Host": "10.0.0.7:8765"})).status_code == 403


# Passwords.


async def test_a_wrong_password_and_an_unknown_name_are_told_the_same(
    memory: aio.Database, opened: Opened, accounts: Accounts, monkeypatch: pytest.MonkeyPatch
):
    hashed: list[str] = []
    verify = keeping._verify
    monkeypatch.setattr(keeping, "_verify", lambda kept, said: hashed.append(kept) or verify(kept, said))
    browser = opened(memory, users=accounts)
    wrong = [await logged_in(browser, name, "no idea") for name in ("ana", "nobody", "shop")]
    assert {one.status_code for one in wrong} == {401}
    tokens = re.compile(r'name="csrf_token" value="[^"]*"')
    assert len({tokens.sub("", one.text) for one in wrong}) == 1
    assert len(hashed) == 3  # as much work for each, so that time tells nothing
    assert all(one.startswith("$argon2id$") for one in hashed)


OF_NOBODY = keeping._NOBODY


def test_passwords_are_hashed_at_the_cost_that_is_recommended_and_the_password_of_nobody_is_checked_at_it_too():
    assert extract_parameters(OF_NOBODY) == RFC_9106_LOW_MEMORY
    cheap = keeping._NOBODY
    assert extract_parameters(cheap) == extract_parameters(hash_password("correct horse"))
    with pytest.raises(VerifyMismatchError):  # found to be another one, and not refused for its form
        keeping._HASHER.verify(cheap, "a guess")


async def test_logins_are_rate_limited_by_address_and_by_name(memory: aio.Database, opened: Opened, accounts: Accounts):
    browser = opened(memory, users=accounts, login_rate="3/minute")
    statuses = [(await logged_in(browser, "ana", f"guess {n}")).status_code for n in range(4)]
    assert statuses == [401, 401, 401, 429]
    late = await logged_in(browser, "ana")
    assert (late.status_code, late.headers["retry-after"]) == (429, "60")  # the right password as well
    assert (await logged_in(browser, "vera")).status_code == 429  # from the same address
    app = application(memory, users=accounts, login_rate="3/minute")
    for number in range(5):
        transport = httpx.ASGITransport(app, client=(f"10.0.0.{number}", 1))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as other:
            last = await logged_in(other, "ana", "guess")
    assert last.status_code == 429  # for the same name from many addresses


async def test_a_password_too_long_to_be_one_is_not_hashed(memory: aio.Database, opened: Opened, accounts: Accounts):
    assert (await logged_in(opened(memory, users=accounts), "ana", "x" * 10_000)).status_code == 401


# Sessions.


async def test_a_session_is_forged_by_nobody_and_ends_with_the_login(
    memory: aio.Database, opened: Opened, accounts: Accounts
):
    browser = opened(memory, users=accounts)
    said = {"id": "x" * 24, "user": "ana", "mark": accounts.get("ana").mark}
    forged = [
        base64.urlsafe_b64encode(json.dumps(said).encode()).decode(),
        str(URLSafeTimedSerializer("another secret", salt="duerow.session").dumps(said)),
        str(URLSafeTimedSerializer("", salt="duerow.session").dumps(said)),
        "..",
        "\x7f",
    ]
    for one in forged:
        assert (await browser.get(QUEUES, headers={"Cookie": f"{COOKIE}={one}"})).status_code == 401


async def test_a_session_of_somebody_else_is_not_taken_over_at_the_login(
    memory: aio.Database, opened: Opened, accounts: Accounts
):
    browser = opened(memory, users=accounts)
    await browser.get("/login")
    planted = browser.cookies[COOKIE]
    await logged_in(browser, "ana")
    assert browser.cookies[COOKIE] != planted
    thief = opened(memory, users=accounts)
    assert (await thief.get(QUEUES, headers={"Cookie": f"{COOKIE}={planted}"})).status_code == 401


async def test_a_session_that_was_logged_out_of_opens_nothing(memory: aio.Database, opened: Opened, accounts: Accounts):
    browser = opened(memory, users=accounts)
    await logged_in(browser, "ana")
    kept = browser.cookies[COOKIE]
    assert (await browser.post("/logout", data={})).status_code == 403  # not for a page of another site
    token = form_token(await browser.get("/login"))
    assert (await browser.post("/logout", data={"csrf_token": token})).status_code == 303
    browser.cookies.clear()
    assert (await browser.get(QUEUES, headers={"Cookie": f"{COOKIE}={kept}"})).status_code == 401


async def test_a_session_ends_with_its_password_and_with_its_account(
    memory: aio.Database, opened: Opened, tmp_path: Path
):
    file = tmp_path / "users.json"
    save_account(file, "ana", Account("operator", HASH))
    browser = opened(memory, users=AccountsFile(file))
    await logged_in(browser, "ana")
    assert (await browser.get(QUEUES)).status_code == 200
    save_account(file, "ana", Account("operator", hash_password("another one")))
    assert (await browser.get(QUEUES)).status_code == 401
    await logged_in(browser, "ana", "another one")
    assert (await browser.get(QUEUES)).status_code == 200
    save_account(file, "ana", None)
    assert (await browser.get(QUEUES)).status_code == 401


async def test_a_session_ends_in_time(
    memory: aio.Database, opened: Opened, accounts: Accounts, monkeypatch: pytest.MonkeyPatch
):
    browser = opened(memory, users=accounts)
    await logged_in(browser, "ana")
    monkeypatch.setattr("itsdangerous.timed.time.time", lambda: 4_000_000_000)
    assert (await browser.get(QUEUES)).status_code == 401


async def test_the_cookie_is_for_no_script_and_over_https_for_https_alone(
    memory: aio.Database, opened: Opened, accounts: Accounts
):
    plain = (await opened(memory, users=accounts).get("/login")).headers["set-cookie"]
    assert "HttpOnly" in plain
    assert "SameSite=Lax" in plain
    assert "Secure" not in plain
    secure = (await opened(memory, users=accounts, base="https://localhost").get("/login")).headers["set-cookie"]
    assert "Secure" in secure


def test_a_file_of_accounts_that_others_can_read_or_change_is_refused(tmp_path: Path):
    file = tmp_path / "users.json"
    save_account(file, "ana", Account("operator", HASH))
    assert file.stat().st_mode & 0o777 == 0o600
    for mode in (0o622, 0o644, 0o660):
        file.chmod(mode)
        with pytest.raises(ConfigurationError, match="chmod 600"):
            AccountsFile(file)


# Single sign-on.


async def test_the_header_of_a_proxy_counts_from_the_proxy_alone(memory: aio.Database, opened: Opened):
    proxy = TrustedProxy(["10.1.0.0/16"], "X-User", {"*": "viewer"})
    named = {"X-User": "ana"}
    inside = opened(memory, proxy=proxy, address="10.1.2.3", headers=named)
    assert (await inside.get(QUEUES)).status_code == 200
    for address in ("10.2.0.1", "127.0.0.1", "", "::1"):
        outside = opened(memory, proxy=proxy, address=address, headers=named)
        assert (await outside.get(QUEUES)).status_code == 401
        spoofed = {"X-Forwarded-For": "10.1.2.3", "Forwarded": "for=10.1.2.3"}
        assert (await outside.get(QUEUES, headers=spoofed)).status_code == 401
    twice = opened(memory, proxy=proxy, address="10.1.2.3")
    assert (await twice.get(QUEUES, headers=[("X-User", "eve"), ("X-User", "ana")])).status_code == 401
    assert (await twice.get(QUEUES)).status_code == 401


async def test_the_roles_of_a_proxys_users_are_given_one_by_one(memory: aio.Database, opened: Opened):
    def roles(name: str, headers: Any) -> Any:
        return {"ana": "operator", "vera": {"mail": "viewer"}}.get(name)

    await memory.queue("mail").push(1)
    await memory.queue("orders").push(1)
    proxy = TrustedProxy(["10.1.0.0/16"], roles=roles)

    async def seen(name: str) -> Any:
        headers = {"X-Forwarded-User": name, "X-Forwarded-For": "1.2.3.4, 5.6.7.8"}
        return await opened(memory, proxy=proxy, address="10.1.2.3", headers=headers).get(QUEUES)

    assert (await seen("ana")).json()["queues"] == ["mail", "orders"]
    assert (await seen("vera")).json()["queues"] == ["mail"]
    assert (await seen("eve")).status_code == 401


async def test_the_audit_has_the_address_that_the_proxy_saw(memory: aio.Database, opened: Opened):
    proxy = TrustedProxy(["10.1.0.0/16"], roles="operator")
    headers = {"X-Forwarded-User": "ana", "X-Forwarded-For": "1.2.3.4, 5.6.7.8"}
    browser = opened(memory, proxy=proxy, address="10.1.2.3", headers=headers)
    token = form_token(await browser.get("/login"))
    path, body = push_to("orders")
    assert (await browser.post(path, json=body)).status_code == 403  # a browser sends those headers by itself
    assert (await browser.post(path, json=body, headers={"X-CSRF-Token": token})).status_code == 201
    found = (await browser.get("/api/v1/audit")).json()["entries"]
    assert [(one["by"], one["means"], one["address"]) for one in found] == [("ana", "proxy", "5.6.7.8")]


async def test_a_function_of_the_host_application_says_who_it_is(memory: aio.Database, opened: Opened):
    async def who(request: Any) -> Viewer | None:
        name = request.cookies.get("host_session")
        return Viewer(name, {"*": ("viewer",)}) if name in ("ana", "vera") else None

    browser = opened(memory, authenticate=who, address="10.0.0.7")
    assert (await browser.get(QUEUES)).status_code == 401
    assert (await browser.get(QUEUES, headers={"Cookie": "host_session=eve"})).status_code == 401
    assert (await browser.get(QUEUES, headers={"Cookie": "host_session=ana"})).status_code == 200
    path, body = push_to("orders")
    assert (await browser.post(path, json=body, headers={"Cookie": "host_session=ana"})).status_code == 403
    nobody = opened(memory, authenticate=lambda request: Viewer("zoe"))
    assert (await nobody.get(QUEUES)).status_code == 403
