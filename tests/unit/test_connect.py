"""What cannot be connected to is refused by an error that names it and says what to do."""

import asyncio
import subprocess
import sys
from contextlib import chdir, suppress
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import duerow
from duerow import aio
from duerow.errors import ConfigurationError, DuerowError, SchemaOutdated, StoreUnavailable

BLOCKING, AWAITED = duerow.connect, lambda *args, **named: asyncio.run(aio.connect(*args, **named))


@pytest.fixture(params=[BLOCKING, AWAITED], ids=["sync", "async"])
def connect(request):
    return request.param


def test_an_unknown_scheme_is_named_with_those_that_are_known(connect):
    known = r"http://, https://, mariadb://, memory://, mongodb://, mssql://, mysql://, postgresql://, sqlite://"
    with pytest.raises(ConfigurationError, match=rf"no store for oracle://.*{known}"):
        connect("oracle://scott@tiger")


@pytest.mark.parametrize("target", ["", "app.db", "/var/lib/app.db", "sqlite"])
def test_what_is_no_url_is_told_how_to_write_one(connect, target):
    with pytest.raises(ConfigurationError, match=r"is not a URL; write for example sqlite:///app\.db"):
        connect(target)


@pytest.mark.parametrize("target", [None, 7, object(), b"sqlite:///app.db"])
def test_what_is_neither_url_nor_engine_nor_client_is_refused(connect, target):
    with pytest.raises(ConfigurationError, match=r"takes a URL, an SQLAlchemy Engine or a client of .*, not"):
        connect(target)


@pytest.mark.parametrize(
    ("url", "module", "missing"),
    [("postgresql://me@127.0.0.1:1/mine", "psycopg", "psycopg"), ("sqlite:///app.db", "aiosqlite", "aiosqlite")],
)
def test_a_missing_driver_is_named_with_what_to_install(monkeypatch, tmp_path, url, module, missing):
    monkeypatch.chdir(tmp_path)
    for loaded in [name for name in sys.modules if name.partition(".")[0] == module]:
        monkeypatch.delitem(sys.modules, loaded)
    monkeypatch.setitem(sys.modules, module, None)
    face = AWAITED if module == "aiosqlite" else BLOCKING
    with pytest.raises(ConfigurationError, match=rf"needs the module {missing}; run pip install 'duerow\[\w+\]'"):
        face(url)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///", "sqlite:///:memory:"])
def test_sqlite_in_memory_is_refused_since_connections_would_not_share_it(connect, url):
    with pytest.raises(ConfigurationError, match="memory://"):
        connect(url)


def test_a_file_in_a_folder_that_is_not_there_is_no_crash(connect, tmp_path):
    with pytest.raises(StoreUnavailable, match="SQLite cannot reach its file"):
        connect(f"sqlite:///{tmp_path}/nowhere/app.db")


def test_a_file_that_is_no_database_is_refused(connect, tmp_path):
    file = tmp_path / "app.db"
    file.write_text("This is no database, though it is long enough to be one. " * 100)
    with pytest.raises(ConfigurationError, match="cannot use this file"):
        connect(f"sqlite:///{file}")


def test_a_server_that_is_not_there_is_unavailable(connect):
    with pytest.raises(StoreUnavailable, match="PostgreSQL") as refused:
        connect("postgresql://me@127.0.0.1:1/mine")
    assert refused.value.outcome == "none"


def test_an_option_that_a_store_does_not_have_is_named_with_those_that_it_has(connect, tmp_path):
    with pytest.raises(ConfigurationError, match=r"no setting colour; it has .*synchronous"):
        connect(f"sqlite:///{tmp_path}/app.db", colour="red")


@pytest.mark.parametrize("options", [{"synchronous": "OFF"}, {"synchronous": "maybe"}, {"busy_timeout": "soon"}])
def test_an_option_that_makes_no_sense_is_refused(connect, tmp_path, options):
    with pytest.raises(ConfigurationError, match=next(iter(options))):
        connect(f"sqlite:///{tmp_path}/app.db", migrate=True, **options)


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("sqlite:///app.db?colour=red", "no setting colour; it has busy_timeout, .*synchronous"),
        ("sqlite:///app.db?timeout=soon", "soon"),
        ("sqlite://me@host/app.db", "Invalid SQLite URL"),
        (
            "postgresql://me@127.0.0.1:1/mine?prepare_threshold=often",
            "prepare_threshold must be a number of executions",
        ),
        ("postgresql://me@127.0.0.1:1/mine?prepare_threshold=-1", "prepare_threshold must be a number of executions"),
        ("postgresql://me@127.0.0.1:1/mine?colour=red", "cannot connect with this URL: .*colour"),
        ("postgresql://me@127.0.0.1:1/mine?connect_timeout=soon", "cannot connect with this URL: .*connect_timeout"),
    ],
)
def test_what_a_url_says_that_makes_no_sense_is_refused(connect, url, says, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigurationError, match=says):
        connect(url)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("url", ["memory://", "sqlite:///app.db", "postgresql://me@127.0.0.1:1/mine"])
@pytest.mark.parametrize("setting", [{"clock": 5}, {"prefix": 5}, {"schema": 5}], ids=str)
def test_a_setting_of_the_wrong_kind_is_named(connect, url, setting, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigurationError, match=f"{next(iter(setting))}= must be .*, not 5"):
        connect(url, **setting)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("prefix", ["", "1st_", "two words", "x; drop table", "é_", "p" * 31, "a.b"])
def test_a_prefix_is_part_of_a_name(connect, tmp_path, prefix):
    with pytest.raises(ConfigurationError, match="prefix"):
        connect(f"sqlite:///{tmp_path}/app.db", migrate=True, prefix=prefix)


def test_sqlite_has_no_schemas(connect, tmp_path):
    for migrate in (True, False):
        with pytest.raises(ConfigurationError, match="no schemas"):
            connect(f"sqlite:///{tmp_path}/app.db", migrate=migrate, schema="mine")


def test_to_import_duerow_imports_no_tool_of_the_tests_and_no_driver():
    script = (
        "import sys, duerow, duerow.aio; duerow.Worker; "
        "print([name for name in ('pytest', 'hypothesis', 'psycopg', 'aiosqlite', 'pyspark') if name in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_a_scheme_that_is_almost_one_is_told_which() -> None:
    for written, meant in (("postgres://u@h/b", "postgresql"), ("mongo://h/b", "mongodb"), ("sqlit:///x.db", "sqlite")):
        with pytest.raises(ConfigurationError, match=rf"did you mean {meant}://\?"):
            duerow.connect(written)


def test_no_password_is_repeated_of_what_is_no_url() -> None:
    with pytest.raises(ConfigurationError) as refused:
        duerow.connect("postgresql:/app:s3cret@host/base")
    assert "s3cret" not in str(refused.value)
    assert "is not a URL" in str(refused.value)


@pytest.mark.parametrize(
    "url",
    [
        "sqlite:///x.db?timeout=1&timeout=2",
        "postgresql://u@127.0.0.1:1/x?timeout=1&timeout=2",
        "mysql://u@127.0.0.1:1/x?timeout=1&timeout=2",
    ],
)
def test_a_setting_that_a_url_has_twice_is_named(connect, url) -> None:
    with pytest.raises(ConfigurationError, match="sets timeout more than once; keep one"):
        connect(url)


def test_a_url_may_have_several_hosts() -> None:
    with pytest.raises(StoreUnavailable):
        duerow.connect("postgresql://u@/x?host=127.0.0.1:1&host=127.0.0.1:2&connect_timeout=2")


HOSTS = st.sampled_from(
    ["127.0.0.1:1", "127.0.0.1:1,127.0.0.1:2", "", "[::1]:1", "[::1", "127.0.0.1:70000", "127.0.0.1:x"]
)
"""All that nobody listens at."""

SCHEMES = st.sampled_from(["postgresql", "mysql", "mariadb", "mongodb", "memory", "http", "sqlite", "mongodb+srv"])

ODD = st.text(max_size=3) | st.sampled_from(
    ["%00", "%zz", "[", "]", "@", ":", "..", "\ud800", "\0", "é", "\uff11", "=="]
)

OPTIONS = st.sampled_from(["prefix", "port", "timeout", "connect_timeout", "sslmode", "driver", "w", "tls", "a"])

QUERIES = st.lists(st.builds("{}={}".format, OPTIONS, ODD), max_size=2).map("&".join)


@given(
    st.builds(
        "{}://{}{}/{}?{}".format, SCHEMES, st.just("") | st.builds("{}:{}@".format, ODD, ODD), HOSTS, ODD, QUERIES
    )
)
@example("mysql://127.0.0.1:1/mine?port=1&port=2")
@example("mongodb://[::1/mine")
@example("memory://[::1")
@example("mysql://127.0.0.1:70000/mine")
@example("mongodb://127.0.0.1:1/mine?driver=a")
@example("mongodb://127.0.0.1:1/mi\ud800ne")
@example("http://127.0.0.1:1/\x7f")
@settings(max_examples=60)
@pytest.mark.filterwarnings("ignore:.*:UserWarning")
def test_whatever_a_url_says_it_is_opened_or_refused_by_an_error_of_duerows_own(url: str) -> None:
    with TemporaryDirectory() as folder, chdir(folder):
        for connect in (BLOCKING, AWAITED):
            with suppress(DuerowError):
                connect(url, migrate=True)


def test_to_connect_makes_no_file_of_a_mistyped_name(connect, tmp_path):
    for query in ("", "?synchronous=NORMAL"):
        with pytest.raises(SchemaOutdated, match=r"there is no file .*typo\.db"):
            connect(f"sqlite:///{tmp_path}/typo.db{query}")
    assert list(tmp_path.iterdir()) == []


def test_a_path_that_no_file_can_have_is_refused(connect):
    with pytest.raises(ConfigurationError, match=r"cannot contain U\+0000"):
        connect("sqlite:///%00")
    with pytest.raises(ConfigurationError, match=r"cannot contain U\+0000"):
        connect("sqlite:///a\0b.db", migrate=True)
