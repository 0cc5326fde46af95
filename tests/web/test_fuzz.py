"""The HTTP API is as it describes itself, whatever it is sent."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any

import httpx
import pytest
import schemathesis
import schemathesis.specs.openapi.adapter  # early: pytest rewrites it, and cannot beside Playwright's greenlets (3.11)
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_schema_conformance,
    status_code_conformance,
)

import duerow
from duerow.web import Account, Accounts, digest
from tests.web.server import serving

TOKEN = "duerow_fuzzer"
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]

QUICK, LONG = 2, 40
"""How many requests are made up for each operation in the daily tests, and in the long ones."""


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    url = f"sqlite:///{tmp_path_factory.mktemp('fuzz') / 'queues.db'}"
    with duerow.connect(url, migrate=True) as database:
        queue = database.queue("0")
        queue.push_many([duerow.Draft({"n": n}, key=str(n)) for n in range(5)])
    accounts = Accounts({"fuzzer": Account(["operator", "worker"], None, {"one": digest(TOKEN)})})
    with serving(url, users=accounts, rate="1000000/minute") as address:
        yield address


def fuzz(address: str, examples: int) -> set[int]:
    """Make up requests for every operation, right ones and wrong ones; return the statuses of what was answered."""
    headers = {"Authorization": f"Bearer {TOKEN}"}
    described = httpx.get(f"{address}/api/v1/openapi.json", headers=headers, timeout=600).json()
    for operation in (one for path in described["paths"].values() for one in path.values()):
        del operation["security"]  # a token is always there: without one nothing else would be met
    schema = schemathesis.openapi.from_dict(described)
    statuses: set[int] = set()
    for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
        for found in schema.get_all_operations():
            ask(found.ok(), mode, examples, partial(_call, f"{address}/api/v1", headers), statuses)
    return statuses


def ask(operation: Any, mode: GenerationMode, examples: int, call: Callable[[Any], Any], statuses: set[int]) -> None:
    """Make up requests for an operation."""
    wrong = mode is GenerationMode.NEGATIVE
    expected = [*CHECKS, negative_data_rejection] if wrong else CHECKS

    def answered(case: Any) -> None:
        if not wrong and isinstance(case.body, dict) and case.body.get("wait_seconds"):
            case.body["wait_seconds"] = 0.01  # nobody pushes
        assume(len(str(case.query)) + len(str(case.path_parameters)) < 8_000)  # the server reads no longer addresses
        response = call(case)
        statuses.add(response.status_code)
        late = (
            response.status_code == 504
        )  # no worker is there to say where its handler is; still one that is described
        case.validate_response(response, checks=[one for one in expected if not (late and one is not_a_server_error)])

    with suppress(Unsatisfiable):  # of an operation without anything that could be wrong
        few(examples)(given(operation.as_strategy(generation_mode=mode))(answered))()


def _call(address: str, headers: dict[str, str], case: Any) -> Any:
    return case.call(base_url=address, headers=headers, timeout=600)


def few(examples: int) -> Any:
    return settings(
        max_examples=examples,
        derandomize=True,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )


def test_the_api_answers_what_is_made_up_as_it_says_it_does(address: str):
    assert {200, 422} <= fuzz(address, QUICK)


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_the_api_answers_a_long_time_as_it_says_it_does(address: str):
    assert {200, 201, 204, 404, 422} <= fuzz(address, LONG)
