"""The audit log's entry of a write that a route made."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from gateway.auth import Principal
from gateway.compose import Parts
from gateway.store import audit


async def record(
    parts: Parts,
    caller: Principal,
    action: audit.Action,
    name: str,
    *,
    tenant: str = "",
    before: Mapping[str, Any] | None = None,
    after: Mapping[str, Any] | None = None,
) -> None:
    """Write down who did what to `name`."""
    entry = audit.Entry(
        at=parts.clock(),
        user=caller.user,
        actor=caller.actor,
        action=action,
        object=name,
        tenant=tenant,
        before=before,
        after=after,
    )
    await parts.store.write(partial(audit.add, entry=entry))
