"""The published JSON Schema is the model's, and says what an editor needs."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from bridge.policy.tenant import RESERVED_NAMES, Tenant
from bridge.policy.tenant_schema import schema_text, tenant_schema

ROOT = Path(__file__).parents[3]
COMMITTED = ROOT / "docs" / "reference" / "tenant.schema.json"
EXAMPLES = sorted((ROOT / "examples" / "tenants").glob("*.yaml"))


def test_the_committed_schema_is_current() -> None:
    assert COMMITTED.read_text() == schema_text(), (
        "write it again: python -m bridge.policy.tenant_schema > docs/reference/tenant.schema.json"
    )


def objects(schema: Any) -> list[dict[str, Any]]:
    return [part for part in (schema, *schema["$defs"].values()) if part.get("type") == "object"]


def test_every_key_is_explained_and_no_other_key_is_taken() -> None:
    schema = json.loads(schema_text())
    for part in objects(schema):
        assert part["additionalProperties"] is False, part["title"]
        for key, value in part["properties"].items():
            assert value.get("description") or "$ref" in value or key in ("default", "allowed", "user"), key


def test_reserved_names_are_marked_in_the_editor_already() -> None:
    schema: Any = tenant_schema()
    assert set(schema["properties"]["name"]["not"]["enum"]) == RESERVED_NAMES
    assert re.match(schema["properties"]["name"]["pattern"], "astro")


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_each_example_names_the_schema_and_is_a_tenant(path: Path) -> None:
    first = path.read_text().splitlines()[0]
    match = re.fullmatch(r"# yaml-language-server: \$schema=(\S+)", first)
    assert match is not None, first
    assert (path.parent / match[1]).resolve() == COMMITTED
    Tenant.model_validate(yaml.safe_load(path.read_text()))
