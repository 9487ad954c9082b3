"""The tenants' rules on one submission, by the newest documents that the gateway can have."""

from __future__ import annotations

from bridge.errors import PolicyRefused
from bridge.job import JobSpec
from bridge.policy.decide import decide
from bridge.policy.request import Decision, request_of
from gateway.directory import Directory


async def judge(directory: Directory, spec: JobSpec, *, user: str) -> Decision | None:
    """Return what the rules decide; None when they aren't known here (slurmctld decides in any case).

    A refusal is never by an old rule: the documents are read again before it is spoken.

    Raises
    ------
    PolicyRefused
        With the same sentence as job_submit.lua's.
    """
    table = directory.now.table
    if table is None:
        return None
    request = request_of(spec, user=user)
    verdict = decide(table, request)
    if isinstance(verdict, Decision):
        return verdict
    await directory.refresh()
    verdict = decide(directory.now.table or table, request)
    if isinstance(verdict, Decision):
        return verdict
    raise PolicyRefused(verdict.sentence, rule=verdict.rule)
