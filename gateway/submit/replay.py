"""After a crash or a lost answer: find out what became of each open intent, and keep the promise.

Never two jobs: an intent's job is looked for by its id in admin_comment before anything is sent again, and
it is sent again only when it is *surely absent*, which takes all of:

1. Nobody can still be sending it. A gateway that died sends nothing (this process holds the store's lock),
   but the slurm-agent may be working on what it got: until `settle_s` after our start, or after the answer
   that did not come, nothing is concluded.
2. slurmctld can't have it in its backlog: a call that reached a paused slurmctld is worked off when it wakes,
   even if the caller has hung up. So one listing that begins after (1) lacks the job, and another one that
   begins `CONFIRM_S` after slurmctld has answered the first.
3. Accounting lacks it too: it may have run and left slurmctld meanwhile.

Never none: an intent whose client got no answer is submitted then. One whose client was told "outcome
unknown" is closed as failed instead: nothing is queued behind anybody's back.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from functools import partial
from typing import Final

import anyio.to_thread
import structlog

from bridge.errors import OutcomeUnknown, SluiceError, Unavailable, Unsupported
from bridge.job import AccountingRow
from gateway.store import intents
from gateway.submit.flow import Submitter
from gateway.submit.intent import Intent, IntentState
from gateway.track.record import id_of_intent
from gateway.track.transition import whole_intent_of

CONFIRM_S: Final = 5.0
"""Between the two listings that must lack a job."""
CLOCK_SLACK: Final = timedelta(minutes=10)
"""How far slurmdbd's clock may be from ours."""

_log = structlog.get_logger(__name__)


class Replay:
    """Settles open intents.

    Parameters
    ----------
    settle_s
        Longest time that the slurm-agent may work on a submission, in seconds.
    give_up_s
        An intent of a crash that is older than this is closed as failed instead of submitted.
    """

    def __init__(
        self,
        submitter: Submitter,
        *,
        settle_s: float,
        give_up_s: float,
        confirm_s: float = CONFIRM_S,
    ) -> None:
        self._submitter = submitter
        self._settle_s = settle_s
        self._give_up = timedelta(seconds=give_up_s)
        self._confirm_s = confirm_s
        self._asked_at: dict[str, float] = {}
        """When an intent was last asked for by this process or its forerunner, at the latest; loop time."""
        self._absent_at: dict[str, float] = {}
        """When a listing first lacked an intent's job after it had settled; loop time."""
        self._inherited: frozenset[str] | None = None
        """Open intents of a gateway before this one: it asked for them before we started."""
        self._started_at = asyncio.get_running_loop().time()

    async def run(self, every_s: float) -> None:
        """Settle for ever."""
        while True:
            try:
                await self.once()
            except SluiceError as error:
                _log.info("open submissions wait", reason=error.message)
            except Exception:  # noqa: BLE001 - a loop that ends would break the promise of every open intent
                _log.exception("open submissions can't be looked at")
            await asyncio.sleep(every_s)

    async def once(self) -> int:
        """Look at each open intent once; returns how many stay open.

        Raises
        ------
        Unavailable
            The store, slurmctld or slurmdbd doesn't answer; nothing was concluded.
        """
        for intent_id in list(self._submitter.unwritten):
            await self._submitter.write_failure(intent_id)
        waiting = await self._open()
        if not waiting:
            return 0
        listed_at = asyncio.get_running_loop().time()
        await self._submitter.tracker.fresh()
        missing = [intent for intent in waiting if await self._submitter.listed(intent) is None]
        absent = [intent for intent in missing if self._surely_not_listed(intent, listed_at)]
        if absent:
            ran = await self._in_accounting(absent)
            for intent in absent:
                if intent.id not in ran:
                    await self._conclude(intent)
        return len(await self._open())

    async def _open(self) -> Sequence[Intent]:
        active = frozenset(self._submitter.active)
        found = await self._submitter.store.read(intents.still_open)
        if self._inherited is None:
            self._inherited = frozenset(intent.id for intent in found) - active
        return [intent for intent in found if intent.id not in active | self._submitter.active]

    def _surely_not_listed(self, intent: Intent, listed_at: float) -> bool:
        inherited = intent.id in (self._inherited or ())
        self._asked_at.setdefault(intent.id, self._started_at if inherited else listed_at)
        if listed_at < self._asked_at[intent.id] + self._settle_s:
            return False
        first = self._absent_at.setdefault(intent.id, asyncio.get_running_loop().time())
        return listed_at >= first + self._confirm_s

    async def _in_accounting(self, absent: Sequence[Intent]) -> set[str]:
        """Return the intents whose jobs slurmdbd knows, and close them."""
        submitter = self._submitter
        now = submitter.clock()
        start = min(intent.created_at for intent in absent) - CLOCK_SLACK
        wanted = {intent.id: intent for intent in absent}

        def search() -> list[AccountingRow]:
            rows = submitter.slurm.accounting(start=start, end=now + CLOCK_SLACK)
            return [row for row in rows if whole_intent_of(row) in wanted]

        found = await anyio.to_thread.run_sync(search)
        await submitter.tracker.learn(found)
        known: set[str] = set()
        for row in found:
            intent = wanted[str(whole_intent_of(row))]
            job = submitter.tracker.record(id_of_intent(intent.id))
            if job is not None and intent.id not in known:
                known.add(intent.id)
                await submitter.store.write(
                    partial(intents.submitted, intent_id=intent.id, job=job, now=submitter.clock())
                )
        return known

    async def _conclude(self, intent: Intent) -> None:
        submitter = self._submitter
        self._absent_at.pop(intent.id, None)
        if intent.state is IntentState.UNRESOLVED or intent.id in submitter.told:
            await submitter.fail(
                intent, OutcomeUnknown("Slurm never got the submission; nothing was queued", part="slurmctld")
            )
            submitter.told.discard(intent.id)
            return
        if submitter.clock() - intent.created_at > self._give_up:
            await submitter.fail(intent, Unavailable("accepted too long ago to be submitted now"))
            return
        await self._submit_again(intent)

    async def _submit_again(self, intent: Intent) -> None:
        submitter = self._submitter
        if not intent.specs:
            await submitter.fail(intent, Unsupported("this version can't read the job that was accepted"))
            return
        submitter.metrics.replays.inc()
        try:
            submitted = await submitter.ask_slurm(intent)
        except OutcomeUnknown as error:
            _log.warning("replayed submission has no answer", intent=intent.id, reason=error.message)
            self._asked_at[intent.id] = asyncio.get_running_loop().time()
        except Unavailable as error:
            _log.info("replayed submission waits", intent=intent.id, reason=error.message)
        except SluiceError as error:
            _log.warning("replayed submission was refused", intent=intent.id, reason=error.message)
            await submitter.fail(intent, error)
        else:
            await submitter.succeed(intent, submitted, None)
