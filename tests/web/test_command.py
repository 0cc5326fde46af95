"""`duerow dashboard` as a program: where it listens, for whom, and who keeps its accounts."""

from __future__ import annotations

import json
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address
from pathlib import Path

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from typer.testing import CliRunner

import duerow
from duerow.cli.application import app
from tests.processes import Running, running_program
from tests.web.conftest import PASSWORD


@pytest.fixture
def url(tmp_path: Path) -> str:
    found = f"sqlite:///{tmp_path / 'shop.db'}"
    with duerow.connect(found, migrate=True) as database:
        database.queue("mail").push(1)
    return found


@contextmanager
def running(*arguments: str) -> Iterator[tuple[str, Running]]:
    """Run the command until the block ends; yield the address that it says."""
    with running_program("duerow", ["dashboard", "--port", "0", *arguments], Path.cwd()) as process:
        line = process.stderr.readline()
        assert line.startswith("serving http"), line + process.stderr.read()
        yield line.removeprefix("serving ").strip(), process
        process.terminate()
        process.wait()


def test_without_users_it_serves_this_machine_alone_and_says_so(url: str):
    with running("--db", url) as (address, process):
        assert address.startswith("http://127.0.0.1:")
        assert "only this machine can connect" in process.stderr.readline()
        found = httpx.get(f"{address}api/v1/queues", timeout=600)
        assert (found.status_code, found.json()) == (200, {"queues": ["mail"]})
        assert "server" not in found.headers
        assert httpx.get(f"{address}api/v1/queues", timeout=600, headers={"Host": "evil.example"}).status_code == 403
        assert (
            httpx.get(f"{address}api/v1/queues", timeout=600, headers={"X-Forwarded-For": "127.0.0.1"}).status_code
            == 403
        )


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.org"])
def test_without_users_it_refuses_to_serve_others(url: str, host: str):
    refused = CliRunner().invoke(app, ["dashboard", "--db", url, "--host", host])
    assert refused.exit_code == 1
    assert "--users FILE" in refused.stderr


def test_accounts_are_kept_in_a_file(tmp_path: Path):
    file = str(tmp_path / "users.json")

    def command(*arguments: str, **more: str) -> str:
        done = CliRunner().invoke(
            app, ["dashboard", "user", *arguments, "--users", file], env={"DUEROW_PASSWORD": PASSWORD}
        )
        assert done.exit_code == 0, done.output
        return done.stdout

    command("add", "ana", "--role", "operator", "--role", "worker:orders*")
    token = command("token", "shop", "--role", "worker", "--name", "laptop").strip()
    command("add", "ana")  # another password, the same roles
    assert json.loads(command("list", "--json")) == [
        {"name": "ana", "roles": {"*": ["operator"], "orders*": ["worker"]}, "password": True, "tokens": []},
        {"name": "shop", "roles": {"*": ["worker"]}, "password": False, "tokens": ["laptop"]},
    ]
    kept = Path(file).read_text()
    assert PASSWORD not in kept
    assert token not in kept
    command("remove", "shop", "--token", "laptop")
    command("remove", "ana")
    assert [one["name"] for one in json.loads(command("list", "--json"))] == ["shop"]
    unknown = CliRunner().invoke(app, ["dashboard", "user", "remove", "nobody", "--users", file])
    assert (unknown.exit_code, "no account 'nobody'" in unknown.stderr) == (1, True)
    odd = CliRunner().invoke(app, ["dashboard", "user", "token", "x", "--role", "king", "--users", file])
    assert (odd.exit_code, "no role 'king'" in odd.stderr) == (1, True)


def test_with_users_and_a_certificate_it_serves_programs_with_a_token_over_https(url: str, tmp_path: Path):
    users, (file, key) = str(tmp_path / "users.json"), certificate(tmp_path)
    token = CliRunner().invoke(app, ["dashboard", "user", "token", "shop", "--users", users]).stdout.strip()
    options = ("--users", users, "--certificate", str(file), "--key", str(key))
    with running("--db", url, *options) as (address, _):
        assert address.startswith("https://127.0.0.1:")
        queues, known = f"{address}api/v1/queues", ssl.create_default_context(cafile=file)
        assert httpx.get(queues, timeout=600, verify=known).status_code == 401
        found = httpx.get(queues, timeout=600, verify=known, headers={"Authorization": f"Bearer {token}"})
        assert found.json() == {"queues": ["mail"]}
        with pytest.raises(httpx.ConnectError):
            httpx.get(queues, timeout=600, verify=ssl.create_default_context())
        login = httpx.get(f"{address}login", timeout=600, verify=known)
        assert login.status_code == 200
        cookies = login.headers.get_list("set-cookie")
        assert cookies
        assert all("secure" in cookie.lower() for cookie in cookies)


def test_a_certificate_without_its_key_is_refused(url: str, tmp_path: Path):
    done = CliRunner().invoke(app, ["dashboard", "--db", url, "--certificate", str(certificate(tmp_path)[0])])
    assert done.exit_code == 1
    assert "--key" in done.output


def certificate(folder: Path) -> tuple[Path, Path]:
    """Write a certificate for this machine, signed by itself, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "duerow")])
    begin = datetime.now(UTC) - timedelta(hours=1)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), 1, begin, begin + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(IPv4Address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    (folder / "crt.pem").write_bytes(made.public_bytes(pem))
    plain = (serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (folder / "key.pem").write_bytes(key.private_bytes(pem, *plain))
    return folder / "crt.pem", folder / "key.pem"
