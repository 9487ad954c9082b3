"""The tenants' rules on one submission, by the newest documents that the gateway can have."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime

from bridge.errors import PolicyRefused
from bridge.job import JobSpec
from bridge.policy.decide import decide
from bridge.policy.request import Decision, Refusal, Tolerated, request_of
from bridge.sbatch import ParsedScript
from gateway.directory import Directory


@dataclass(frozen=True, slots=True)
class Judged:
    """What the rules say: the decision, None when slurmctld alone decides, and what the user is told."""

    decision: Decision | None = None
    warnings: tuple[str, ...] = ()


async def judge(directory: Directory, spec: JobSpec, *, user: str) -> Judged:
    """Return what the rules decide.

    A refusal is never by an old rule: the documents are read again before it is spoken.

    Raises
    ------
    PolicyRefused
        With the same sentence as job_submit.lua's.
    """
    table = directory.now.table
    if table is None:
        return Judged()
    request = request_of(spec, user=user)
    now = datetime.now(UTC)
    verdict = decide(table, request, now)
    if isinstance(verdict, Refusal):
        await directory.refresh()
        verdict = decide(directory.now.table or table, request, now)
    match verdict:
        case Refusal(rule=rule, sentence=sentence):
            raise PolicyRefused(sentence, rule=rule)
        case Tolerated(refusal=Refusal(sentence=sentence), spoken=True):
            return Judged(warnings=(sentence,))
        case Tolerated():
            return Judged()
        case Decision():
            return Judged(verdict, verdict.notes)


async def judge_script(
    directory: Directory, parsed: ParsedScript, *, user: str
) -> tuple[ParsedScript, tuple[Decision | None, ...]]:
    """Judge each component of a script; returns it with what the rules tell the user, and the decisions.

    Raises
    ------
    PolicyRefused
        A component is refused.
    """
    judged = [await judge(directory, spec, user=user) for spec in parsed.specs]
    said = dict.fromkeys(words for one in judged for words in one.warnings)
    return (
        replace(parsed, warnings=(*parsed.warnings, *said)),
        tuple(one.decision for one in judged),
    )
