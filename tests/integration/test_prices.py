"""Costs on a real cluster: real jobs, priced here by hand from sacct's own rows, second by second."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from decimal import ROUND_HALF_EVEN, Decimal

import pytest

from tests.integration.test_ledger import Row, all_over, settled
from tests.support.stack import GatewayClient, OwnTenant, Stack
from tests.support.waiting import wait_for

# Guarantees of the pool's few GPUs: one test after the other.
pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300), pytest.mark.xdist_group("guarantees")]

Client = Callable[[str], GatewayClient]
CENT = Decimal("0.01")


@pytest.fixture
def book(stack: Stack) -> Iterator[str]:
    """A price book of the test's own, by the second so that short jobs cost something."""
    name = f"b-{uuid.uuid4().hex[:8]}"
    document = {
        "name": name,
        "currency": "EUR",
        "per": "second",
        "on_demand": [
            {"from": "2020-01-01", "flavor": "a100", "gpu": "0.70", "cpu": "0.011"},
            {"from": "2020-01-01", "flavor": "a100", "class": "batch", "gpu": "0.30"},
        ],
        "reserved": [{"from": "2020-01-01", "flavor": "a100", "gpu": "0.05"}],
    }
    with stack.administrator() as http:
        assert http.put(f"/v1/prices/{name}", json=document).status_code == 201
        yield name


def guarantee_covers(rows: list[Row], gpus: int) -> dict[str, int]:
    """GPU-seconds that a guarantee covers: at each second the first `gpus`, training before batch."""
    covered = {"training": 0, "batch": 0}
    first_s = min(row.start_s or 0 for row in rows)
    for second in range(first_s, max(row.end_s or 0 for row in rows)):
        left = gpus
        for name in covered:
            used = sum(
                row.tres.get("gres/gpu", 0)
                for row in rows
                if row.qos == name and (row.start_s or 0) <= second < (row.end_s or 0)
            )
            taken = min(left, used)
            covered[name] += taken
            left -= taken
    return covered


def test_a_bill_is_the_sum_of_the_rows_of_sacct_less_what_the_guarantee_covers(
    stack: Stack, client: Client, make_tenant: Callable[..., OwnTenant], book: str
) -> None:
    tenant = make_tenant(
        members=[{"user": f"p{uuid.uuid4().hex[:8]}", "role": "manager"}],
        flavors={"a100": {"guarantee": 2, "limit": 6}},
        classes={"allowed": ["training", "batch"], "default": "training"},
        price_book=book,
    )
    login, gateway = stack.login_node(tenant.user), client(tenant.user)
    wait_for(lambda: gateway.http.get("/v1/reports/cost").json()["rows"], "the guarantee is in the bill")
    first = gateway.submit("#!/bin/sh\nsleep 6\n", "--gres=gpu:a100:1", "--time=5", "--mem=64M")
    login.sbatch("--gres=gpu:a100:2 --qos=batch --time=5 --mem=64M --wrap='sleep 6'")
    rows = all_over(stack, tenant, 2)
    settled(gateway, rows)

    answer = gateway.http.get("/v1/reports/cost", params={"by": "kind,class"})
    assert answer.status_code == 200, answer.text
    found = {(row["kind"], row["class"]): row for row in answer.json()["rows"]}
    covered = guarantee_covers(rows, 2)
    prices = {"training": (Decimal("0.70"), Decimal("0.011")), "batch": (Decimal("0.30"), Decimal(0))}
    for row in rows:
        gpu, cpu = prices[row.qos]
        gpu_s, cpu_s = row.tres["gres/gpu"] * row.seconds, row.tres["cpu"] * row.seconds
        used = found["used", row.qos]
        assert (used["gpu_seconds"], used["cpu_seconds"]) == (gpu_s, cpu_s)
        assert used["covered_gpu_seconds"] == covered[row.qos]
        cost = ((gpu_s - covered[row.qos]) * gpu + cpu_s * cpu).quantize(CENT, ROUND_HALF_EVEN)
        assert Decimal(used["cost"]) == cost
    reserved = found["reserved", ""]
    assert Decimal(reserved["cost"]) == (reserved["reserved_gpu_seconds"] * Decimal("0.05")).quantize(CENT)
    assert reserved["reserved_gpu_seconds"] >= 2 * 6

    # The job's own page: the same prices, before the guarantee.
    row = next(row for row in rows if row.qos == "training")
    gpu, cpu = prices["training"]
    whole = row.seconds * (gpu + row.tres["cpu"] * cpu)
    assert gateway.job(first["id"])["cost"] == {
        "amount": str(whole.quantize(CENT, ROUND_HALF_EVEN)),
        "currency": "EUR",
    }


def test_a_script_is_told_its_cost_before_it_is_submitted(
    client: Client, make_tenant: Callable[..., OwnTenant], book: str
) -> None:
    tenant = make_tenant(price_book=book)
    gateway = client(tenant.user)
    wait_for(
        lambda: (
            gateway.http.post(
                "/v1/jobs:test",
                content="#!/bin/sh\nhostname\n",
                params={"arg": ["--gres=gpu:a100:2", "--time=10", "--cpus-per-task=2", "--mem=64M"]},
                headers={"Content-Type": "text/x-shellscript"},
            ).json()["cost"]
            # 2 GPUs and 2 CPUs: 3600 x (1.40 + 0.022), and a sixth of it.
            == {"per_hour": "5119.20", "at_most": "853.20", "currency": "EUR"}
        ),
        "the estimate is right",
        deadline_s=20,
    )


def test_another_tenants_manager_sees_no_line_of_it(
    client: Client, make_tenant: Callable[..., OwnTenant], book: str
) -> None:
    make_tenant(flavors={"a100": {"guarantee": 1, "limit": 2}}, price_book=book)
    other = make_tenant(members=[{"user": f"p{uuid.uuid4().hex[:8]}", "role": "manager"}], price_book=book)
    seen = client(other.user).http.get("/v1/reports/cost", params={"by": "tenant"}).json()["rows"]
    assert {row["tenant"] for row in seen} <= {other.name}
