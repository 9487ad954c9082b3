"""The tenant document as JSON Schema (draft 2020-12), generated from the model, for editors and the API.

Pure. What flows in: `bridge.policy.tenant`. What flows out: a mapping that JSON takes. The committed copy is
``docs/reference/tenant.schema.json``; write it again with::

    python -m bridge.policy.tenant_schema > docs/reference/tenant.schema.json

What no schema can say (a guarantee within its limit, guarantees within the pool) is said by
``sluice tenants validate``.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping

from pydantic import JsonValue

from bridge.policy.tenant import Tenant

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def tenant_schema() -> Mapping[str, JsonValue]:
    """Return the schema of one document."""
    schema: dict[str, JsonValue] = Tenant.model_json_schema()
    return {"$schema": DIALECT, **schema, "title": "Tenant of Sluice"}


def schema_text() -> str:
    """Return the schema as the committed file has it."""
    return json.dumps(tenant_schema(), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.stdout.write(schema_text())
