"""``/v1/prices`` and ``GET /v1/reports/cost`` over a real ledger; the sums are worked out by hand.

The world: November 2026 in UTC, 24-hour days. Tenant astro guarantees 2 h100 from 2 November 00:00 on, at
1.50 an hour each; on demand an h100 costs 3.00 (batch: 2.00), a CPU 0.10.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from bridge.policy.tenant import Tenant
from gateway.auth import Principal, current
from gateway.directory import Documents, Snapshot
from gateway.ledger.flow import Ledger
from gateway.price.flow import Prices
from gateway.routes import prices, reports
from gateway.store import prices as stored
from gateway.store.engine import Store
from tests.support.application import application
from tests.support.database import database
from tests.unit.ledger.rows import at, run, seconds

NOW = datetime(2026, 11, 4, 12, tzinfo=UTC)
ADA = Principal(user="ada", tenants={"astro": "member"})
MANAGER = Principal(user="mira", tenants={"astro": "manager"})
OTHER = Principal(user="chen", tenants={"genomics": "manager"})
ROOT = Principal(user="root", admin=True)
ONE_GPU = "cpu=10,mem=1024M,node=1,gres/gpu=1,gres/gpu:h100=1"
BOOK = {
    "name": "default",
    "currency": "EUR",
    "on_demand": [
        {"from": "2026-01-01", "gpu": "3.00", "cpu": "0.10"},
        {"from": "2026-01-01", "class": "batch", "gpu": "2.00"},
    ],
    "reserved": [{"from": "2026-01-01", "flavor": "h100", "gpu": 1.5}],
}


def documents(**changed: Any) -> tuple[Tenant, ...]:
    astro = {"name": "astro", "flavors": {"h100": {"guarantee": 2, "limit": 8}}, **changed}
    return (Tenant.model_validate(astro),)


class Door:
    """The routes, asked as somebody."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.directory = SimpleNamespace(
            now=Snapshot(documents=Documents(tenants=documents()), table=None, taken_at=NOW)
        )
        self.now = at("11-02 00:00")
        self.prices = Prices(store=store, directory=self.directory, clock=lambda: self.now)  # type: ignore[arg-type]
        self._app = application(reports, prices)
        self._app.state.parts = SimpleNamespace(
            ledger=Ledger(store=store), prices=self.prices, clock=lambda: NOW, store=store
        )

    def ask(self, method: str, path: str, caller: Principal = ROOT, **request: Any) -> httpx.Response:
        async def send() -> httpx.Response:
            self._app.dependency_overrides[current] = lambda: caller
            transport = httpx.ASGITransport(self._app)
            async with httpx.AsyncClient(transport=transport, base_url="http://sluice") as client:
                return await client.request(method, path, **request)

        return asyncio.run(send())

    def cost(self, caller: Principal = ROOT, **query: str) -> Any:
        query = {"from": "2026-11-01", "to": "2026-12-01", **query}
        answer = self.ask("GET", "/v1/reports/cost", caller, params=query)
        assert answer.status_code == 200, answer.text
        return answer.json()


@pytest.fixture
def door(tmp_path: Path) -> Iterator[Door]:
    store = Store.open(database(tmp_path))
    door = Door(store)
    asyncio.run(door.prices.note_terms())
    ledger = Ledger(store=store, clock=lambda: NOW)
    rows = [
        # Before the guarantee: one h100 and ten CPUs for an hour, 3.00 + 1.00.
        run("11-01 10:00", "11-01 11:00", index=1, tres=ONE_GPU),
        # With it: two h100 covered, and a third beside them on demand for an hour, 3.00 + 1.00.
        run("11-03 10:00", "11-03 12:00", index=2, tres=ONE_GPU),
        replace(run("11-03 10:00", "11-03 12:00", index=3, tres=ONE_GPU), user="bela"),
        replace(run("11-03 11:00", "11-03 12:00", index=4, tres=ONE_GPU), user="bela", qos="batch"),
        # An account of the site's own, without a document.
        replace(run("11-03 10:00", "11-03 10:30", index=5, tres="cpu=1,node=1"), account="physics"),
    ]
    asyncio.run(ledger.take(rows))
    asyncio.run(ledger.complete(cluster="sluice", as_of=at("11-04 12:00"), live=frozenset()))
    yield door
    store.close()


def rows_of(found: Any, *columns: str) -> dict[tuple[str, ...], str]:
    return {tuple(row[column] for column in columns): row["cost"] for row in found["rows"]}


def test_without_a_book_nothing_has_a_cost_and_it_says_so(door: Door) -> None:
    answer = door.ask("GET", "/v1/reports/cost")
    assert answer.status_code == 404
    assert answer.json()["detail"].endswith("an administrator makes one: sluice prices apply FILE")


def test_a_bill_is_what_the_hand_works_out(door: Door) -> None:
    assert door.ask("PUT", "/v1/prices/default", json=BOOK).status_code == 201
    found = door.cost(by="tenant,user,kind")
    # Reserved: 2 GPUs x 2.5 days (2 November 00:00 to 4 November 12:00) x 24 h x 1.50.
    # ada: 4.00 on the 1st; on the 3rd her GPU is covered, her 10 CPUs cost 2.00.
    # bela: on the 3rd covered likewise, 2.00, and batch beyond the guarantee 2.00 (its price has no CPUs).
    assert rows_of(found, "tenant", "user", "kind") == {
        ("astro", "", "reserved"): "180.00",
        ("astro", "ada", "used"): "6.00",
        ("astro", "bela", "used"): "4.00",
        ("physics", "ada", "used"): "0.05",
    }
    assert [(total["currency"], total["cost"]) for total in found["totals"]] == [("EUR", "190.05")]
    assert found["unpriced"] == []


def test_days_add_up_to_the_month(door: Door) -> None:
    door.ask("PUT", "/v1/prices/default", json=BOOK)
    by_day = rows_of(door.cost(by="day"), "day")
    assert by_day == {
        ("2026-11-01",): "4.00",
        ("2026-11-02",): "72.00",
        ("2026-11-03",): "78.05",
        ("2026-11-04",): "36.00",
    }


def test_a_member_sees_the_own_lines_a_manager_the_tenant_another_nothing(door: Door) -> None:
    door.ask("PUT", "/v1/prices/default", json=BOOK)
    assert rows_of(door.cost(ADA, by="user"), "user") == {("ada",): "6.00"}
    assert door.cost(MANAGER)["totals"][0]["cost"] == "190.00"
    assert door.cost(OTHER)["rows"] == []


def test_a_price_changes_at_a_midnight_of_the_books_zone(door: Door) -> None:
    # 1 November 10:00 UTC is 23:00 of that day in Auckland; the run ends at its midnight.
    changed = {**BOOK, "timezone": "Pacific/Auckland", "reserved": []}
    changed["on_demand"] = [*BOOK["on_demand"], {"from": "2026-11-02", "class": "training", "gpu": "9.00"}]
    door.ask("PUT", "/v1/prices/default", json=changed)
    by_day = rows_of(door.cost(by="day,user", timezone="UTC"), "day", "user")
    assert by_day["2026-11-01", "ada"] == "4.00"
    # 3 November 10:00 to 12:00 UTC is 23:00 to 01:00: half on each day, 9.00 a GPU-hour.
    assert by_day["2026-11-03", "bela"] == "9.00"
    assert by_day["2026-11-04", "bela"] == "11.00"  # 9.00, and an hour of batch at 2.00


def test_usage_without_a_price_is_listed_not_free(door: Door) -> None:
    door.ask("PUT", "/v1/prices/default", json={**BOOK, "on_demand": [{"from": "2026-11-02", "gpu": 1}]})
    found = door.cost()
    assert found["unpriced"] == [
        {
            "tenant": "astro",
            "price_book": "default",
            "flavor": "h100",
            "class": "training",
            "gpu_seconds": 3600,
            "cpu_seconds": 36_000,
        }
    ]


def test_a_tenant_whose_book_is_not_there_is_unpriced(door: Door) -> None:
    door.ask("PUT", "/v1/prices/default", json=BOOK)
    door.now = at("11-03 00:00")
    door.directory.now = replace(
        door.directory.now, documents=Documents(tenants=documents(price_book="gold"))
    )
    asyncio.run(door.prices.note_terms())
    found = door.cost()
    assert {(row["tenant"], row["price_book"]) for row in found["unpriced"]} == {("astro", "gold")}
    assert found["totals"][0]["cost"] == "76.05"  # 4.00, a day of the guarantee, and physics
    door.ask("PUT", "/v1/prices/gold", json={**BOOK, "name": "gold", "currency": "USD"})
    totals = {total["currency"]: total["cost"] for total in door.cost()["totals"]}
    assert totals == {"EUR": "76.05", "USD": "114.00"}  # 1.5 days of the guarantee, and 6.00


def test_a_book_has_versions_and_the_same_one_again_is_none(door: Door) -> None:
    assert door.ask("PUT", "/v1/prices/default", json=BOOK).status_code == 201
    assert door.ask("PUT", "/v1/prices/default", json=BOOK).status_code == 200
    assert door.ask("PUT", "/v1/prices/default", json={**BOOK, "per": "second"}).status_code == 201
    history = door.ask("GET", "/v1/prices/default/history", ADA).json()["items"]
    assert [(each["book"]["per"], each["changed_by"]) for each in history] == [
        ("second", "root"),
        ("hour", "root"),
    ]
    assert door.ask("GET", "/v1/prices/default", ADA).json()["book"]["per"] == "second"
    assert [each["book"]["name"] for each in door.ask("GET", "/v1/prices").json()["items"]] == ["default"]


def test_a_dry_run_changes_nothing(door: Door) -> None:
    assert door.ask("PUT", "/v1/prices/default?dry_run=true", json=BOOK).status_code == 204
    assert door.ask("GET", "/v1/prices/default").status_code == 404


def test_books_are_the_administrators(door: Door) -> None:
    assert door.ask("PUT", "/v1/prices/default", MANAGER, json=BOOK).status_code == 403
    door.ask("PUT", "/v1/prices/default", json=BOOK)
    assert door.ask("DELETE", "/v1/prices/default", MANAGER).status_code == 403


def test_a_book_in_use_is_not_removed(door: Door) -> None:
    door.ask("PUT", "/v1/prices/default", json=BOOK)
    door.ask("PUT", "/v1/prices/gold", json={**BOOK, "name": "gold"})
    kept = door.ask("DELETE", "/v1/prices/default")
    assert (kept.status_code, kept.json()["tenants"]) == (409, ["astro"])
    assert door.ask("DELETE", "/v1/prices/gold").status_code == 204
    assert door.ask("DELETE", "/v1/prices/gold").status_code == 404
    assert door.ask("GET", "/v1/prices/gold").json()["book"] is None


@pytest.mark.parametrize(
    ("path", "body", "said"),
    [
        ("gold", BOOK, "the book's name is 'default' and the path says 'gold'"),
        ("default", {**BOOK, "currency": "EUX"}, "EUX"),
        ("default", {**BOOK, "on_demand": [{"from": "soon"}]}, "on_demand"),
    ],
)
def test_a_wrong_book_is_refused_and_nothing_kept(door: Door, path: str, body: Any, said: str) -> None:
    answer = door.ask("PUT", f"/v1/prices/{path}", json=body)
    assert answer.status_code == 422
    assert said in answer.text
    assert door.ask("GET", "/v1/prices").json()["items"] == []


def test_csv_has_the_same_rows(door: Door) -> None:
    door.ask("PUT", "/v1/prices/default", json=BOOK)
    answer = door.ask(
        "GET", "/v1/reports/cost", params={"from": "2026-11-01", "by": "tenant", "format": "csv"}
    )
    assert answer.text.splitlines()[0].startswith("tenant,gpu_seconds,covered_gpu_seconds")
    assert [line.split(",")[-1] for line in answer.text.splitlines()[1:]] == ["190.00", "0.05"]


def test_terms_are_written_once(door: Door) -> None:
    asyncio.run(door.prices.note_terms())
    history = asyncio.run(door.store.read(partial(stored.terms, tenants=["astro"])))
    assert [each.since_s for each in history["astro"]] == [seconds("11-02 00:00")]
