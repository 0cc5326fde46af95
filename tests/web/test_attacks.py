"""What must not pass: each way in is tried, and stays shut."""

from __future__ import annotations

import base64
import json
import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from itsdangerous import URLSafeTimedSerializer

from duerow import Commit, aio
from duerow.errors import ConfigurationError
from duerow.web import Account, Accounts, AccountsFile, TrustedProxy, Viewer, application, hash_password
from duerow.web.security import accounts as keeping
from duerow.web.security.accounts import save_account
from duerow.web.security.sessions import COOKIE
from tests.web.conftest import HASH, PASSWORD, TOKEN, Opened, form_token, logged_in

QUEUES = "/api/v1/queues"


def push_to(queue: str) -> tuple[str, dict[str, Any]]:
    return f"{QUEUES}/{queue}/messages", {"messages": [{"payload": 1}], "create": True}


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


# Forms of other sites.


async def test_a_form_without_the_token_of_its_session_is_refused(
    memory: aio.Database, opened: Opened, accounts: Accounts
):
    browser, other = (opened(memory, users=accounts) for _ in range(2))
    foreign = form_token(await other.get("/login"))
    await browser.get("/login")
    for token in ("", "x", ".", foreign, foreign.partition(".")[2], "é.é"):
        refused = await browser.post("/login", data={"name": "ana", "password": PASSWORD, "csrf_token": token})
        assert (refused.status_code, refused.json()["type"]) == (403, "urn:duerow:problem:csrf")


async def test_a_token_from_before_the_login_is_none_after_it(memory: aio.Database, opened: Opened, accounts: Accounts):
    browser = opened(memory, users=accounts)
    before = form_token(await browser.get("/login"))
    await logged_in(browser, "ana")
    path, body = push_to("orders")
    assert (await browser.post(path, json=body, headers={"X-CSRF-Token": before})).status_code == 403
    assert (await browser.post(path, json=body)).status_code == 403
    after = form_token(await browser.get("/login"))
    assert (await browser.post(path, json=body, headers={"X-CSRF-Token": after})).status_code == 201


@pytest.mark.parametrize(
    "onward",
    ["https://evil.example", "//evil.example", "/\\evil.example", "\\\\evil", "javascript:alert(1)", "/\t/evil"],
)
async def test_a_login_leads_to_no_other_site(memory: aio.Database, opened: Opened, accounts: Accounts, onward: str):
    browser = opened(memory, users=accounts)
    page = await browser.get("/login", params={"next": onward})
    assert "evil" not in page.text
    assert "javascript:" not in page.text
    form = {"name": "ana", "password": PASSWORD, "csrf_token": form_token(page), "next": onward}
    assert (await browser.post("/login", data=form)).headers["location"] == "/"


async def test_what_was_typed_is_text_on_the_page(memory: aio.Database, opened: Opened, accounts: Accounts):
    page = await opened(memory, users=accounts).get("/login", params={"next": '/"><script>alert(1)</script>'})
    assert "<script" not in page.text


async def test_every_response_forbids_what_the_pages_do_not_need(
    memory: aio.Database, opened: Opened, accounts: Accounts
):
    browser = opened(memory, users=accounts)
    for path in ("/login", QUEUES, "/nothing", "/static/nothing"):
        headers = (await browser.get(path)).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert "http" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert "access-control-allow-origin" not in headers
        if not path.startswith("/static"):
            assert headers["cache-control"] == "no-store"


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


# Read-only, sizes and rates.


async def test_nothing_is_changed_through_a_read_only_window(memory: aio.Database, opened: Opened, accounts: Accounts):
    await memory.queue("orders").push(1)
    browser = opened(memory, users=accounts, read_only=True)
    assert (await logged_in(browser, "ana")).status_code == 303
    headers = {"X-CSRF-Token": form_token(await browser.get("/login"))}
    path, body = push_to("orders")
    for target, content in ((path, body), (f"{QUEUES}/orders/reservations", {}), (f"{QUEUES}/orders/pause", None)):
        refused = await browser.post(target, json=content, headers=headers)
        assert (refused.status_code, refused.json()["type"]) == (403, "urn:duerow:problem:read-only")
    assert (await browser.get(f"{QUEUES}/orders/stats")).json()["ready"] == 1
    assert (await browser.delete("/api/v1/schedules/x", headers=headers)).status_code == 403


async def test_a_body_that_is_too_large_is_refused_said_or_not(memory: aio.Database, opened: Opened):
    browser = opened(memory, max_body_bytes=1_000)
    path, _ = push_to("orders")

    async def endless() -> Any:
        while True:
            yield b"[" * 100

    json_ = {"Content-Type": "application/json"}
    said = await browser.post(path, content=b" " * 1_001, headers=json_)
    assert (said.status_code, said.json()["type"]) == (413, "urn:duerow:problem:too-large")
    assert (await browser.post(path, content=endless(), headers=json_)).status_code == 413
    for length in ("-1", "1e9", "²"):
        odd = await browser.post(path, content=b"{}", headers=[*json_.items(), ("Content-Length", length.encode())])
        assert odd.status_code == 413


async def test_strangers_send_little(memory: aio.Database, opened: Opened, accounts: Accounts):
    browser = opened(memory, users=accounts)
    long = {"name": "x" * 100_000, "csrf_token": form_token(await browser.get("/login"))}
    assert (await browser.post("/login", data=long)).status_code == 413


async def test_what_only_looks_like_a_public_path_is_none(memory: aio.Database, opened: Opened, accounts: Accounts):
    browser = opened(memory, users=accounts)
    for path in ("/login/../api/v1/queues", "/logins", "/healthz/x", "/static", "//login", "/api/v1/queues;/login"):
        response = await browser.get(path)
        assert response.status_code in (303, 401), path


async def test_requests_are_rate_limited(memory: aio.Database, opened: Opened):
    browser = opened(memory, rate="3/minute")
    assert [(await browser.get(QUEUES)).status_code for _ in range(4)] == [200, 200, 200, 429]


@pytest.mark.parametrize(
    "body", [b"[" * 100_000, b'{"messages": NaN}', b"\xff", b"", b'{"messages": [{"payload": 1e999}]}']
)
async def test_a_body_that_is_no_json_is_a_problem(memory: aio.Database, opened: Opened, body: bytes):
    path, _ = push_to("orders")
    refused = await opened(memory).post(path, content=body, headers={"Content-Type": "application/json"})
    assert refused.status_code in (400, 422)
    assert refused.headers["content-type"] == "application/problem+json"


async def test_a_fault_tells_nothing_of_the_server(
    memory: aio.Database, opened: Opened, monkeypatch: pytest.MonkeyPatch
):
    async def broken() -> Any:
        raise RuntimeError("secret path /srv")

    monkeypatch.setattr(memory, "known_queues", broken)
    transport = httpx.ASGITransport(application(memory), client=("127.0.0.1", 1), raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as browser:
        failed = await browser.get(QUEUES)
    assert failed.status_code == 500
    assert "secret" not in failed.text


async def test_no_websocket_is_spoken(memory: aio.Database):
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    await application(memory)({"type": "websocket", "path": "/", "headers": []}, lambda: None, send)  # type: ignore[arg-type]
    assert sent == [{"type": "websocket.close", "code": 1008}]


# Redaction.


def masked(queue: str, payload: Any) -> Any:
    return {**payload, "card": "…"}


async def test_what_is_redacted_is_told_by_no_way(memory: aio.Database, opened: Opened):
    queue = memory.queue("orders", dead_letter="orders-dead")
    await queue.declare()
    await queue.push_many([*_drafts({"card": "4111", "city": "Split"}, {"card": "4222", "city": "Zagreb"})])
    first, second = await queue.reserve_many(2)
    await queue.rollback(first, error="no card 4111")
    logged = memory.queue("logged", history=timedelta(days=1))
    await logged.push("paid")
    assert await logged.settle([(one, Commit(log="card 4111")) for one in await logged.reserve_many(1)]) == []
    await queue.bury(second, "no card 4222")
    browser = opened(memory, redact=masked, searchable={"orders*": ["city"]})
    texts = []
    for path in (
        "orders/messages",
        f"orders/messages/{first.message.id}",
        f"orders/messages/{first.message.id}/why",
        "orders-dead/messages",
        f"orders-dead/messages/{second.message.id}/why",
        "orders/history",
        "logged/history",
        "orders/messages?where=payload.city%20%3D%20'Split'",
    ):
        response = await browser.get(f"{QUEUES}/{path}")
        assert response.status_code == 200, response.text
        texts.append(response.text)
    assert "Split" in texts[0]
    assert "4111" not in "".join(texts)
    assert "4222" not in "".join(texts)
    for condition in (
        "payload.card = '4111'",
        "not payload.card = '4111'",
        "payload.city = 'Split' and (priority > 3 or payload.card like '4%')",
        "payload.city.card = '4111'",
        "headers.\"dead-letter-reason\" like '%4222%'",
    ):
        for name in ("orders", "orders-dead"):
            found = await browser.get(f"{QUEUES}/{name}/messages", params={"where": condition})
            assert (found.status_code, found.json()["type"]) == (403, "urn:duerow:problem:redacted"), condition
            counted = await browser.get(f"{QUEUES}/{name}/count", params={"where": condition})
            assert counted.status_code == 403
            body = {"where": condition, "dry_run": True}
            assert (await browser.post(f"{QUEUES}/{name}/remove", json=body)).status_code == 403
            assert (await browser.post(f"{QUEUES}/{name}/redrive", json=body)).status_code == 403
    assert (await browser.get(f"{QUEUES}/orders/count", params={"by": "payload.card"})).status_code == 403
    for condition in ("error.message like '%4111%'", "payload.card = '4111'"):
        found = await browser.get(f"{QUEUES}/orders/history", params={"where": condition})
        assert (found.status_code, found.json()["type"]) == (403, "urn:duerow:problem:redacted"), condition


async def test_operators_do_not_read_redacted_payloads_by_reserving_them(
    memory: aio.Database, opened: Opened, accounts: Accounts, as_shop: dict[str, str]
):
    await memory.queue("orders").push({"card": "4111"})
    browser = opened(memory, redact=masked, users=accounts)
    await logged_in(browser, "ana")
    headers = {"X-CSRF-Token": form_token(await browser.get("/login"))}
    assert (await browser.post(f"{QUEUES}/orders/reservations", json={}, headers=headers)).status_code == 403
    program = opened(memory, redact=masked, users=accounts, headers=as_shop)
    taken = (await program.post(f"{QUEUES}/orders/reservations", json={})).json()["reservations"]
    assert taken[0]["message"]["payload"] == {"card": "4111"}  # a program that works on it needs it whole


async def test_a_function_that_fails_to_redact_shows_nothing(memory: aio.Database, opened: Opened):
    await memory.queue("orders").push(["card 4111"])
    found = await opened(memory, redact=masked).get(f"{QUEUES}/orders/messages")
    assert found.json()["messages"][0]["payload"] == "(hidden)"


def _drafts(*payloads: Any) -> list[Any]:
    from duerow import Draft

    return [Draft(one) for one in payloads]
