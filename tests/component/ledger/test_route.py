"""``GET /v1/reports/usage`` over a real ledger, with the caller given."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest

from bridge.job import BaseState
from gateway.auth import Principal, current
from gateway.ledger.flow import Ledger
from gateway.routes import reports
from gateway.store.engine import Store
from tests.support.application import application
from tests.support.database import database
from tests.unit.ledger.rows import at, run

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
ADA = Principal(user="ada", tenants={"astro": "member"})
ROOT = Principal(user="root", admin=True)


class Door:
    """The route, asked as somebody."""

    def __init__(self, ledger: Ledger) -> None:
        self._app = application(reports)
        self._app.state.parts = SimpleNamespace(ledger=ledger, clock=lambda: NOW)

    def get(self, caller: Principal = ADA, accept: str = "*/*", **query: str) -> httpx.Response:
        async def ask() -> httpx.Response:
            self._app.dependency_overrides[current] = lambda: caller
            transport = httpx.ASGITransport(self._app)
            async with httpx.AsyncClient(transport=transport, base_url="http://sluice") as client:
                return await client.get("/v1/reports/usage", params=query, headers={"Accept": accept})

        return asyncio.run(ask())


@pytest.fixture
def door(tmp_path: Path) -> Iterator[Door]:
    store = Store.open(database(tmp_path))
    ledger = Ledger(store=store, clock=lambda: NOW)
    rows = [
        run(index=1),
        replace(run("11-30 20:00", "12-01 04:00", index=2), user="bela"),
        replace(run(index=3), account="=cmd", user="@eve", admin_comment="sluice:http:X"),
    ]
    asyncio.run(ledger.take(rows))
    asyncio.run(ledger.complete(cluster="sluice", as_of=at("11-30 11:59"), live=frozenset()))
    yield Door(ledger)
    store.close()


def test_a_member_sees_the_rows_of_the_own_tenants(door: Door) -> None:
    body = door.get(by="tenant,user").json()
    assert [(row["tenant"], row["user"]) for row in body["rows"]] == [("astro", "ada"), ("astro", "bela")]
    assert body["total"]["gpu_seconds"] == 7200 + 2 * 4 * 3600
    assert door.get(Principal(user="zoe"), by="tenant").json()["rows"] == []


def test_an_administrator_sees_all(door: Door) -> None:
    assert len(door.get(ROOT).json()["rows"]) == 2


def test_the_body_says_what_it_is(door: Door) -> None:
    body = door.get(by="tenant,class").json()
    assert body["view"] == "billed"
    assert body["by"] == ["tenant", "class"]
    assert body["as_of"] == "2026-11-30T11:59:00Z"
    assert body["period"] == {"from": "2026-11-01T00:00:00Z", "to": "2026-12-01T00:00:00Z", "timezone": "UTC"}
    assert body["provisional"] == {"jobs": 0, "gpu_seconds": 0}
    assert body["runaways"] == []
    assert body["rows"] == [
        {
            "tenant": "astro",
            "class": "training",
            "jobs": 2,
            "gpu_seconds": 36000,
            "cpu_seconds": 144000,
            "memory_mib_seconds": 16384 * 18000,
            "node_seconds": 18000,
            "billing_seconds": 208 * 18000,
        }
    ]


@pytest.mark.parametrize(
    ("accept", "query"),
    [
        ("text/csv", {}),
        ("*/*", {"format": "csv"}),
        ("application/json", {"format": "CSV"}),
        ("text/csv;q=1, */*", {}),
    ],
)
def test_csv_has_a_header_and_nothing_that_a_spreadsheet_runs(
    door: Door, accept: str, query: dict[str, str]
) -> None:
    answer = door.get(ROOT, accept, by="tenant,user,door", **query)
    assert answer.headers["content-type"].startswith("text/csv")
    assert answer.text.split("\r\n") == [
        "tenant,user,door,jobs,gpu_seconds,cpu_seconds,memory_mib_seconds,node_seconds,billing_seconds",
        "'=cmd,'@eve,http,1,7200,28800,58982400,3600,748800",
        "astro,ada,sbatch,1,7200,28800,58982400,3600,748800",
        "astro,bela,sbatch,1,28800,115200,235929600,14400,2995200",
        "",
    ]


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ({"from": "2026-12-01", "to": "2026-11-01"}, "is not before"),
        ({"from": "soon"}, "neither a date"),
        ({"timezone": "Mars/Olympus"}, "IANA name"),
        ({"by": "tenant,colour"}, "by=colour is no column"),
        ({"by": "tenant,tenant"}, "twice"),
        ({"format": "pdf"}, "json or csv"),
        ({"from": "1970-01-01", "to": "2026-11-01", "by": "day"}, "group by month"),
    ],
)
def test_bad_input_is_one_sentence(door: Door, query: dict[str, str], words: str) -> None:
    answer = door.get(ADA, **query)
    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/problem+json"
    assert words in answer.json()["detail"]
    assert "\n" not in answer.json()["detail"]


def test_a_runaway_is_named_beside_the_rows(tmp_path: Path) -> None:
    store = Store.open(database(tmp_path))
    ledger = Ledger(store=store, clock=lambda: NOW)
    asyncio.run(ledger.take([run(end=None, state=BaseState.RUNNING)]))
    asyncio.run(ledger.complete(cluster="sluice", as_of=at("11-03 10:30"), live=frozenset({101})))
    asyncio.run(ledger.complete(cluster="sluice", as_of=at("11-29 10:30"), live=frozenset()))
    body = Door(ledger).get().json()
    store.close()
    assert body["runaways"] == [
        {
            "cluster": "sluice",
            "job_id": 101,
            "tenant": "astro",
            "user": "ada",
            "name": "train",
            "gpus": 2,
            "started_at": "2026-11-03T10:00:00Z",
            "charged_until": "2026-11-03T10:30:00Z",
        }
    ]
    assert body["provisional"] == {"jobs": 1, "gpu_seconds": 3600}
