"""Queries on submission intents."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import msgpack
import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError
from sqlmodel import Session, select

from bridge.errors import InputError, SluiceError
from bridge.job import JobSpec
from bridge.slurm import codec
from gateway.store import audit, jobs
from gateway.store.tables import IntentRow
from gateway.submit.intent import OPEN, Intent, IntentState
from gateway.track.record import JobRecord

KEPT_ERRORS = 2000
"""Characters of an error's sentence that are kept."""


def record(session: Session, intent: Intent, *, audit_entry: audit.Entry | None = None) -> Intent:
    """Write a new intent, and with it, in the same transaction, what the audit log says of it.

    Returns
    -------
    Intent
        `intent` itself, or the one that holds the same user's idempotency key already.
    """
    try:
        with session.begin_nested():
            session.add(_row(intent))
            session.flush()
    except IntegrityError:
        if intent.idempotency_key is None:
            raise
        holder = by_key(session, intent.user, intent.idempotency_key)
        if holder is None:
            raise
        return holder
    if audit_entry is not None:
        audit.add(session, audit_entry)
    return intent


def by_key(session: Session, user: str, key: str) -> Intent | None:
    """Return the intent that holds a user's idempotency key."""
    row = session.exec(
        select(IntentRow).where(IntentRow.user == user, IntentRow.idempotency_key == key)
    ).one_or_none()
    return _intent(row) if row else None


def get(session: Session, intent_id: str) -> Intent | None:
    """Return one intent."""
    row = session.get(IntentRow, intent_id)
    return _intent(row) if row else None


def still_open(session: Session) -> Sequence[Intent]:
    """Return the intents without an outcome, oldest first."""
    rows = session.exec(
        select(IntentRow)
        .where(sa.column("state").in_([state.value for state in OPEN]))
        .order_by(sa.column("id"))
    )
    return [_intent(row) for row in rows]


def submitted(session: Session, intent_id: str, *, job: JobRecord, now: datetime) -> None:
    """Close an intent with its job; the job's row is written in the same transaction.

    A row that the mirror wrote first (it saw the job before we had the answer) is left as it is, but for
    the messages of the submission, which only the submission knows.
    """
    closed = session.execute(
        sa.update(IntentRow)
        .where(sa.column("id") == intent_id)
        .values(state=IntentState.SUBMITTED.value, job_id=job.job_id, spec=b"", error=None, closed_at=now)
    )
    del closed
    jobs.add_if_new(session, job)


def failed(session: Session, intent_id: str, *, error: SluiceError, now: datetime) -> None:
    """Close an intent without a job; its idempotency key becomes free."""
    session.execute(
        sa.update(IntentRow)
        .where(sa.column("id") == intent_id, sa.column("state") != IntentState.SUBMITTED.value)
        .values(
            state=IntentState.FAILED.value,
            idempotency_key=None,
            spec=b"",
            error={"code": error.code, "message": error.message[:KEPT_ERRORS]},
            closed_at=now,
        )
    )


def unresolved(session: Session, intent_id: str) -> None:
    """Note that Slurm gave no answer and that the client is told so."""
    session.execute(
        sa.update(IntentRow)
        .where(sa.column("id") == intent_id, sa.column("state") == IntentState.RECORDED.value)
        .values(state=IntentState.UNRESOLVED.value)
    )


def _row(intent: Intent) -> IntentRow:
    return IntentRow(
        id=intent.id,
        user=intent.user,
        idempotency_key=intent.idempotency_key,
        body_hash=intent.body_hash,
        cluster=intent.cluster,
        spec=_packed(intent.specs),
        warnings=list(intent.warnings),
        state=intent.state.value,
        job_id=intent.job_id,
        error=dict(intent.error) if intent.error else None,
        created_at=intent.created_at,
        closed_at=intent.closed_at,
    )


def _intent(row: IntentRow) -> Intent:
    return Intent(
        id=row.id,
        user=row.user,
        idempotency_key=row.idempotency_key,
        body_hash=row.body_hash,
        cluster=row.cluster,
        specs=_unpacked(row.spec),
        warnings=tuple(row.warnings),
        state=IntentState(row.state),
        job_id=row.job_id,
        error=row.error,
        created_at=row.created_at,
        closed_at=row.closed_at,
    )


def _packed(specs: Sequence[JobSpec]) -> bytes:
    if not specs:
        return b""
    packed: bytes = msgpack.packb([codec.encode(spec) for spec in specs], datetime=True)
    return packed


def _unpacked(packed: bytes) -> tuple[JobSpec, ...]:
    plain = msgpack.unpackb(packed, timestamp=3) if packed else []
    # Before heterogeneous jobs an intent had one specification, written without a list.
    listed = plain if isinstance(plain, list) else [plain]
    try:
        return tuple(codec.decode(JobSpec, each) for each in listed)
    except InputError:
        return ()  # of another version of the gateway: it can't be carried out, and must not stop others
