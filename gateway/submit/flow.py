"""Submitting: validate -> parse -> decide -> record intent -> Slurm -> record outcome.

What can go wrong where, and what the store, the client and Slurm have then (each row has a test in
``tests/component/gateway/test_crash_points.py``):

================================  ==========  ==============================================  ================
the gateway dies ...              store       what happens then                               jobs
================================  ==========  ==============================================  ================
before the intent is committed    nothing     nothing: the client got no answer, may retry    0
after it, before Slurm is asked   recorded    replay submits, once Slurm surely has it not    1
while Slurm is asked              recorded    replay looks for it; submits only if absent     1
after Slurm took it, before the   recorded    replay finds it by admin_comment, closes it     1
outcome is committed
after that, before the answer     submitted   same Idempotency-Key: 200 with the same job     1
while a replay submits            recorded    as "while Slurm is asked"                       1
--------------------------------  ----------  ----------------------------------------------  ----------------
... or lives, and Slurm ...
--------------------------------  ----------  ----------------------------------------------  ----------------
was not asked (`Unavailable`)     failed      503 with Retry-After; the key is free again     0
refuses                           failed      Slurm's words; the key is free again            0
gives no answer, but has it       submitted   found within `submit_resolve_s`: 201            1
gives no answer for longer        unresolved  503 "outcome-unknown" with the id to look for;  0 or 1, never
                                              looked for until it is found or surely absent;  submitted again
                                              never submitted behind the client's back
================================  ==========  ==============================================  ================

An intent that is on disk is a promise: it was accepted, so that it becomes a job even when nobody could be
told. How "surely absent" is known is `gateway.submit.replay`'s business.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

import anyio.to_thread
import structlog
from anyio import CapacityLimiter

from bridge.errors import Conflict, InputError, KeyReused, OutcomeUnknown, SluiceError, Unavailable
from bridge.policy.request import Decision
from bridge.sbatch import ParsedScript
from bridge.slurm.port import Slurm, Submitted
from gateway.directory import Directory
from gateway.metrics import Metrics
from gateway.principal import Principal
from gateway.store import intents, jobs
from gateway.store.engine import Store
from gateway.submit.asked_by import submission_entry, within_limits
from gateway.submit.first import first_record
from gateway.submit.intent import Intent, IntentState
from gateway.submit.judge import judge_script
from gateway.submit.map import Submission
from gateway.submit.read import Reader
from gateway.track.flow import Tracker
from gateway.track.record import JobRecord, admin_comment, id_of_intent

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Accepted:
    """A job, and whether this request made it (else an earlier one with the same key did)."""

    job: JobRecord
    created: bool


class Submitter:
    """Carries submissions out, each in a task that outlives its client."""

    def __init__(
        self,
        *,
        store: Store,
        slurm: Slurm,
        directory: Directory,
        tracker: Tracker,
        metrics: Metrics,
        reader: Reader,
        clock: Callable[[], datetime],
        new_id: Callable[[], str],
        at_once: int,
        resolve_s: float,
    ) -> None:
        self.store = store
        self.slurm = slurm
        self.directory = directory
        self.tracker = tracker
        self.metrics = metrics
        self.reader = reader
        self.clock = clock
        self.new_id = new_id
        self.resolve_s = resolve_s
        self.active: set[str] = set()
        """Intents that a living task of this process works on; replay leaves them alone."""
        self.told: set[str] = set()
        """Intents whose client was answered "outcome-unknown"; kept in the store too, when it takes it."""
        self.unwritten: dict[str, SluiceError] = {}
        """Failures that the store did not take yet; replay writes them down."""
        self._limiter = CapacityLimiter(at_once)
        self._tasks: set[asyncio.Task[Accepted]] = set()

    async def submit(
        self, submission: Submission, *, user: str, key: str | None, caller: Principal | None = None
    ) -> Accepted:
        """Submit one job as `user`, or return the one that the idempotency key `key` made before.

        `caller` is who asks, for the audit log and the limits of the credential; None for ourselves.

        Raises
        ------
        ScriptError, PolicyRefused, SlurmRefused, Unsupported, InputError, Denied
            The request is at fault; no job.
        Conflict, KeyReused
            The key's request is in flight, or was another one.
        OutcomeUnknown
            It may or may not become a job; `details["id"]` is the id that it would have.
        Unavailable
            No job; the same request may be sent again.
        """
        # A vanished client must not tear the work between Slurm's answer and its record.
        task = asyncio.create_task(self._submit(submission, user, key, caller))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return await asyncio.shield(task)

    async def drain(self) -> None:
        """Wait for the submissions that are under way."""
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _submit(
        self, submission: Submission, user: str, key: str | None, caller: Principal | None
    ) -> Accepted:
        if key is not None:
            holder = await self.store.read(partial(intents.by_key, user=user, key=key))
            if holder is not None:
                return await self._repeated(holder, submission)
        parsed = await self.reader.read(submission, user=user)
        if parsed.client.test_only:
            raise InputError(
                "--test-only submits nothing: POST the same to /v1/jobs:test", option="test-only"
            )
        parsed, decisions = await judge_script(self.directory, parsed, user=user)
        if caller is not None:
            within_limits(caller, parsed, decisions)
        intent = self._intent(submission, parsed, user=user, key=key)
        self.active.add(intent.id)
        try:
            entry = None if caller is None else submission_entry(caller, intent, decisions)
            recorded = await self.store.write(partial(intents.record, intent=intent, audit_entry=entry))
            if recorded.id != intent.id:
                return await self._repeated(recorded, submission)
            return Accepted(await self._carry_out(intent, decisions[0]), created=True)
        finally:
            self.active.discard(intent.id)

    async def _carry_out(self, intent: Intent, decision: Decision | None) -> JobRecord:
        try:
            submitted = await self.ask_slurm(intent)
        except OutcomeUnknown as error:
            return await self._resolve(intent, error)
        except SluiceError as error:
            await self.fail(intent, error)
            raise
        try:
            return await self.succeed(intent, submitted, decision)
        except Unavailable as error:
            # The job is there; replay will write down what we could not.
            raise _unknown(intent, f"Slurm has the job {submitted.job_id}, but {error.message}") from error

    async def ask_slurm(self, intent: Intent) -> Submitted:
        """Send an intent's job.

        Raises
        ------
        OutcomeUnknown
            As the port says, and for every failure that doesn't prove that nothing was sent.
        """
        match intent.specs:
            case ():
                raise ValueError(f"intent {intent.id} is closed")
            case (spec,):
                send = partial(self.slurm.submit, spec, user=intent.user)
            case components:
                send = partial(self.slurm.submit_het, components, user=intent.user)
        try:
            return await anyio.to_thread.run_sync(send, limiter=self._limiter)
        except SluiceError as error:
            if type(error) is SluiceError:
                raise OutcomeUnknown(error.message, part="slurm-agent") from error
            raise
        except Exception as error:  # a fault of ours: whether the job was made is not known
            _log.exception("submission failed inside", intent=intent.id)
            raise OutcomeUnknown("the submission failed inside the gateway", part="gateway") from error

    async def succeed(self, intent: Intent, submitted: Submitted, decision: Decision | None) -> JobRecord:
        """Close an intent with the job that Slurm gave; returns its row."""
        job = self.tracker.note_submitted(first_record(intent, submitted, decision, now=self.clock()))
        await self.store.write(partial(intents.submitted, intent_id=intent.id, job=job, now=self.clock()))
        self.metrics.submissions.labels(outcome="submitted").inc()
        _log.info("job submitted", intent=intent.id, job_id=job.job_id, user=intent.user, tenant=job.tenant)
        return job

    async def fail(self, intent: Intent, error: SluiceError) -> None:
        """Close an intent without a job; what the store doesn't take now is written later."""
        self.metrics.submissions.labels(outcome=error.code).inc()
        self.unwritten[intent.id] = error
        with contextlib.suppress(Unavailable):
            await self.write_failure(intent.id)

    async def write_failure(self, intent_id: str) -> None:
        """Write a failure down that waits in `unwritten`."""
        error = self.unwritten[intent_id]
        await self.store.write(partial(intents.failed, intent_id=intent_id, error=error, now=self.clock()))
        del self.unwritten[intent_id]

    async def listed(self, intent: Intent) -> JobRecord | None:
        """Return an intent's job when the mirror has it, and close the intent; None when it has not."""
        job = self.tracker.record(id_of_intent(intent.id))
        if job is None:
            return None
        await self.store.write(partial(intents.submitted, intent_id=intent.id, job=job, now=self.clock()))
        self.metrics.submissions.labels(outcome="found").inc()
        _log.info("job of an unanswered submission found", intent=intent.id, job_id=job.job_id)
        return job

    async def _resolve(self, intent: Intent, error: OutcomeUnknown) -> JobRecord:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self.resolve_s
        while loop.time() < deadline:
            try:
                await self.tracker.fresh()
                if (job := await self.listed(intent)) is not None:
                    return job
            except Unavailable:
                pass  # not known yet: ask again until the deadline
            await asyncio.sleep(min(0.5, self.resolve_s / 4))
        self.metrics.submissions.labels(outcome=error.code).inc()
        self.told.add(intent.id)
        with contextlib.suppress(Unavailable):
            await self.store.write(partial(intents.unresolved, intent_id=intent.id))
        raise _unknown(intent, error.message) from error

    async def _repeated(self, holder: Intent, submission: Submission) -> Accepted:
        if holder.body_hash != submission.fingerprint:
            raise KeyReused(
                "this Idempotency-Key came with another request before; use a new key for a new job",
                id=id_of_intent(holder.id),
            )
        if holder.state is IntentState.SUBMITTED:
            job = await self.store.read(partial(jobs.get, job_id=id_of_intent(holder.id)))
            if job is not None:
                return Accepted(job, created=False)
        raise Conflict(
            "the request with this Idempotency-Key is still being carried out; ask again in a moment",
            id=id_of_intent(holder.id),
        )

    def _intent(self, submission: Submission, parsed: ParsedScript, *, user: str, key: str | None) -> Intent:
        intent_id = self.new_id()
        return Intent(
            id=intent_id,
            user=user,
            idempotency_key=key,
            body_hash=submission.fingerprint,
            cluster=self.reader.place.cluster(),
            specs=tuple(
                replace(spec, admin_comment=admin_comment("http", intent_id, component))
                for component, spec in enumerate(parsed.specs)
            ),
            warnings=parsed.warnings,
            created_at=self.clock(),
        )


def _unknown(intent: Intent, words: str) -> OutcomeUnknown:
    job_id = id_of_intent(intent.id)
    return OutcomeUnknown(
        f"it is not known yet whether Slurm took the job ({words}); look at /v1/jobs/{job_id} before you "
        "submit it again, or repeat the request with the same Idempotency-Key",
        id=job_id,
        retry_after_s=10,
    )
