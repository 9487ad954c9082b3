"""The first row of a job: what is known of it when Slurm has taken it and no listing has shown it. Pure."""

from __future__ import annotations

from datetime import datetime

from bridge.job import BaseState, JobState
from bridge.policy.request import Decision
from bridge.slurm.port import Submitted
from gateway.submit.intent import Intent
from gateway.track.record import UNKNOWN_UID, JobRecord, class_of, id_of_intent


def first_record(
    intent: Intent, submitted: Submitted, decision: Decision | None, *, now: datetime
) -> JobRecord:
    """Return the row (of a het job its leader's); the rules' decision stands in for what Slurm will show.

    Raises
    ------
    ValueError
        The intent is closed: its specification is gone.
    """
    if not intent.specs:
        raise ValueError(f"intent {intent.id} is closed")
    spec = intent.specs[0]
    het = len(intent.specs) > 1
    qos = (decision.qos if decision else spec.qos) or ""
    return JobRecord(
        id=id_of_intent(intent.id),
        cluster=intent.cluster,
        job_id=submitted.job_id,
        array_job_id=submitted.job_id if spec.array else None,
        array_tasks=spec.array,
        het_job_id=submitted.job_id if het else None,
        het_offset=0 if het else None,
        name=spec.name,
        user=intent.user,
        uid=UNKNOWN_UID,
        tenant=(decision.account if decision else spec.account) or "",
        job_class=decision.job_class if decision else class_of(qos),
        flavor=decision.flavor if decision and decision.gpus else "",
        partition=(decision.partition if decision else spec.partition) or "",
        qos=qos,
        state=JobState(BaseState.PENDING),
        submitted_at=now,
        time_limit_min=decision.time_limit_min if decision else spec.time_limit_min,
        gpus=decision.gpus if decision else 0,
        door="http",
        work_dir=spec.work_dir,
        messages=(*intent.warnings, *submitted.messages),
        admin_comment=spec.admin_comment or "",
        comment=spec.comment or "",
        dependency=spec.dependency or "",
        changed_at=now,
    )
