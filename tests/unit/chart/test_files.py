"""The chart's files that come from elsewhere are as they are there; every value has a type and a default."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from bridge.cluster.chart import VALUES, described, reference
from tests.support.stack import CHECKOUT

CHART = VALUES.parent
SCHEMA: Any = json.loads((CHART / "values.schema.json").read_text())
DEFAULTS: Any = yaml.safe_load(VALUES.read_text())


@pytest.mark.parametrize("name", ["slurm.conf.in", "cgroup.conf.in", "slurmdbd.conf.in"])
def test_templates_of_slurm_are_the_local_stacks(name: str) -> None:
    assert (CHART / "files" / name).read_text() == (CHECKOUT / "slurm-conf" / name).read_text(), (
        f"cp slurm-conf/{name} helm/sluice/files/"
    )


def test_the_reference_is_that_of_the_values() -> None:
    page = CHECKOUT / "docs" / "reference" / "chart.md"
    assert page.read_text() == reference(VALUES.read_text()), "python -m bridge.cluster.chart > " + str(page)
    assert len(list(described(VALUES.read_text()))) > 50


def test_a_description_may_go_on_over_lines() -> None:
    text = "# -- One\n# and two.\na: 1\nb:\n  # -- Three.\n  c: [x]\n# no description\nd: 2\n"
    found = [(value.path, value.default, value.about) for value in described(text)]
    assert found == [("a", 1, "One and two."), ("b.c", ["x"], "Three.")]


def _differences(values: Any, schema: Any, path: str) -> Iterator[str]:
    if schema.get("type") == "array" and isinstance(values, list) and "properties" in schema["items"]:
        for each in values:
            yield from _differences(each, schema["items"], f"{path}[]")
        return
    if "properties" not in schema:
        return
    for key in values.keys() - schema["properties"].keys():
        yield f"{path}.{key} has no type"
    for key in schema["properties"].keys() - values.keys() - {"global"}:
        yield f"{path}.{key} has no default"
    for key in values.keys() & schema["properties"].keys():
        yield from _differences(values[key], schema["properties"][key], f"{path}.{key}")


def test_every_value_has_a_type_and_a_default() -> None:
    assert list(_differences(DEFAULTS, SCHEMA, "")) == []


def test_the_dashboard_is_json() -> None:
    board = json.loads((CHART / "files" / "dashboard.json").read_text())
    assert {panel["type"] for panel in board["panels"]} <= {"timeseries", "stat"}
    assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"])
