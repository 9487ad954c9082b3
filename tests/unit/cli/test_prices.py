"""``sluice prices`` and ``sluice report --cost``: what they ask and what they print."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from bridge.errors import InputError
from tests.unit.cli.conftest import Door, Sluice

EXAMPLE = Path(__file__).parents[3] / "examples" / "prices" / "default.yaml"
BOOK = {
    "name": "default",
    "currency": "EUR",
    "timezone": "UTC",
    "per": "hour",
    "on_demand": [
        {"from": "2026-01-01", "flavor": None, "class": None, "gpu": "2.40", "cpu": "0.03", "memory_gib": "0"}
    ],
    "reserved": [{"from": "2026-01-01", "flavor": "h100", "gpu": "1.50"}],
    "discounts": [
        {"from": "2026-07-01", "to": None, "tenant": None, "flavor": None, "class": "batch", "percent": "25"}
    ],
}
VERSION = {"book": BOOK, "version": 3, "changed_by": "root", "changed_at": "2026-11-30T12:00:00Z"}
FIGURES = {
    "gpu_seconds": 7200,
    "covered_gpu_seconds": 3600,
    "reserved_gpu_seconds": 86_400,
    "cpu_seconds": 0,
    "memory_mib_seconds": 0,
    "currency": "EUR",
    "list_cost": "1234.50",
    "cost": "1000.00",
}
BILL = {
    "period": {"from": "2026-11-01T00:00:00Z", "to": "2026-12-01T00:00:00Z", "timezone": "UTC"},
    "by": ["tenant"],
    "rows": [{"tenant": "astro", **FIGURES}],
    "totals": [FIGURES],
    "unpriced": [
        {
            "tenant": "physics",
            "price_book": "gold",
            "flavor": "",
            "class": "",
            "gpu_seconds": 0,
            "cpu_seconds": 60,
        }
    ],
    "as_of": "2026-11-30T12:00:00Z",
    "provisional": {"gpu_seconds": 0},
}


def test_the_example_is_a_good_book(sluice: Sluice) -> None:
    said = sluice("prices", "validate", str(EXAMPLE))
    assert said.code == 0, said
    assert "price book 'default' is good" in said.out


def test_apply_puts_the_book_with_exact_prices(sluice: Sluice, door: Door, tmp_path: Path) -> None:
    file = tmp_path / "book.yaml"
    file.write_text("name: gold\ncurrency: EUR\non_demand:\n  - {from: 2026-01-01, gpu: 0.1}\n")
    door.always(201, VERSION)
    said = sluice("prices", "apply", str(file))
    assert said.code == 0, said
    (asked,) = door.asked
    assert (asked.method, asked.url.path) == ("PUT", "/v1/prices/gold")
    assert json.loads(asked.content)["on_demand"][0]["gpu"] == "0.1"
    assert "price book 'gold' is in force" in said.out
    door.always(200, VERSION)
    assert "is unchanged" in sluice("prices", "apply", str(file)).out


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("name: [", "is not YAML"),
        ("", "the document"),
        ("name: x\ncurrency: EUR\non_demand: []\n", "on_demand"),
        ("name: x\ncurrency: EUR\non_demand: [{from: soon}]\n", "on_demand.0.from"),
    ],
)
def test_a_wrong_file_is_one_sentence(
    sluice: Sluice, door: Door, tmp_path: Path, text: str, words: str
) -> None:
    file = tmp_path / "book.yaml"
    file.write_text(text)
    said = sluice("prices", "apply", str(file))
    assert isinstance(said.error, InputError)
    assert str(file) in str(said.error)
    assert words in str(said.error)
    assert not door.asked


def test_show_and_list_print_tables(sluice: Sluice, door: Door) -> None:
    door.always(200, VERSION)
    said = sluice("prices", "show", "default").out
    assert "default: EUR per hour, days of UTC" in said
    for words in ("on demand", "2.40", "reserved", "1.50", "discount", "25 %"):
        assert words in said
    door.always(200, {"items": [VERSION]})
    assert "root" in sluice("prices", "list").out
    door.always(200, {"items": []})
    assert "no price books" in sluice("prices", "list").out


def test_a_bill_is_a_table_with_what_it_leaves_out(sluice: Sluice, door: Door) -> None:
    door.always(200, BILL)
    said = sluice("report", "--cost", "--month", "2026-11", "--by", "tenant")
    assert said.code == 0, said
    (asked,) = door.asked
    assert asked.url.path == "/v1/reports/cost"
    assert dict(asked.url.params) == {"by": "tenant", "from": "2026-11-01", "to": "2026-12-01"}
    assert "Cost from 2026-11-01 to 2026-12-01" in said.out
    assert "1,000.00 EUR" in said.out
    assert "no price in book 'gold': tenant physics, no GPU, class -, 0.0 GPU-hours" in said.out


def test_the_examples_names_are_those_of_the_flavors() -> None:
    book = yaml.safe_load(EXAMPLE.read_text())
    assert {price.get("flavor") for price in book["reserved"]} == {"h100", "a100"}
