"""What depends on who asked for a submission: the limits of the credential, the audit entry. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from bridge.errors import Unavailable
from bridge.policy.request import Decision
from bridge.sbatch import ParsedScript
from gateway.principal import Principal
from gateway.store.audit import Entry
from gateway.submit.intent import Intent
from gateway.track.record import id_of_intent


def within_limits(caller: Principal, parsed: ParsedScript, decisions: Sequence[Decision | None]) -> None:
    """Refuse a job of a tenant that the caller's credential is not for.

    Raises
    ------
    Denied
        It would be another tenant's.
    Unavailable
        Which tenant's it would be is not known, and the credential is limited.
    """
    if caller.admin or caller.grant.tenants is None:
        return
    for spec, decision in zip(parsed.specs, decisions, strict=True):
        tenant = decision.account if decision is not None else spec.account
        if not tenant:
            raise Unavailable(
                "the rules are not known yet, and this credential is limited to tenants; name the tenant"
                " (--account) or try again soon",
                part="bridge",
            )
        caller.require_tenant(tenant)


def submission_entry(caller: Principal, intent: Intent, decisions: Sequence[Decision | None]) -> Entry:
    """Return what the audit log says of a submission: who asked for what, never the script itself."""
    tenants = sorted({decision.account for decision in decisions if decision is not None})
    first = intent.specs[0]
    return Entry(
        at=intent.created_at,
        user=caller.user,
        actor=caller.actor,
        action="job.submit",
        object=id_of_intent(intent.id),
        tenant=tenants[0] if len(tenants) == 1 else "",
        after={"name": first.name, "components": len(intent.specs), "request_sha256": intent.body_hash},
    )
