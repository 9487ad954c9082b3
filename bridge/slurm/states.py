"""Slurm's job states, as words (sacct, slurmrestd) and as numbers (libslurm), to `JobState`.

Pure and total: the tables are slurm.h's ``enum job_states`` and ``JOB_*`` bits of 26.05 with all older
spellings. A word or a bit that isn't here raises `UnknownState`, which must alarm: guessing could
mean that a live job is taken as finished.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from bridge.errors import UnknownState
from bridge.job import BaseState, JobState

BASE_BY_NUMBER: Final = {
    0: BaseState.PENDING,
    1: BaseState.RUNNING,
    2: BaseState.SUSPENDED,
    3: BaseState.COMPLETED,
    4: BaseState.CANCELLED,
    5: BaseState.FAILED,
    6: BaseState.TIMEOUT,
    7: BaseState.NODE_FAIL,
    8: BaseState.PREEMPTED,
    9: BaseState.BOOT_FAIL,
    10: BaseState.DEADLINE,
    11: BaseState.OUT_OF_MEMORY,
}
"""slurm.h, enum job_states (``job_state & 0xff``)."""

FLAG_BY_BIT: Final = {
    8: "LAUNCH_FAILED",
    9: "GETENV_FAILED",
    10: "REQUEUED",
    11: "REQUEUE_HOLD",
    12: "SPECIAL_EXIT",
    13: "RESIZING",
    14: "CONFIGURING",
    15: "COMPLETING",
    16: "STOPPED",
    17: "RECONFIG_FAIL",
    18: "POWER_UP_NODE",
    19: "REVOKED",
    20: "REQUEUE_FED",
    21: "RESV_DEL_HOLD",
    22: "SIGNALING",
    23: "STAGE_OUT",
    24: "EXPEDITING",
}
"""slurm.h, JOB_* bits above the base state. Bit 9 was UPDATE_DB before 24.11."""

_BASE_WORDS: Final = {str(base): base for base in BASE_BY_NUMBER.values()} | {
    "COMPLETE": BaseState.COMPLETED,
    "OOM": BaseState.OUT_OF_MEMORY,
}
_FLAG_WORDS: Final = {flag: flag for flag in FLAG_BY_BIT.values()} | {
    "REQUEUE": "REQUEUED",
    "UPDATE_DB": "GETENV_FAILED",
}
_BASE_WHEN_ONLY_FLAG: Final = {
    "REQUEUED": BaseState.PENDING,
    "REQUEUE_HOLD": BaseState.PENDING,
    "REQUEUE_FED": BaseState.PENDING,
    "SPECIAL_EXIT": BaseState.PENDING,
    "RESV_DEL_HOLD": BaseState.PENDING,
    "EXPEDITING": BaseState.PENDING,
    "REVOKED": BaseState.CANCELLED,
    "RESIZING": BaseState.RUNNING,
    "CONFIGURING": BaseState.RUNNING,
    "COMPLETING": BaseState.RUNNING,
    "STOPPED": BaseState.RUNNING,
    "SIGNALING": BaseState.RUNNING,
    "STAGE_OUT": BaseState.RUNNING,
    "POWER_UP_NODE": BaseState.RUNNING,
    "LAUNCH_FAILED": BaseState.FAILED,
    "GETENV_FAILED": BaseState.FAILED,
    "RECONFIG_FAIL": BaseState.FAILED,
}
"""The compact word of squeue and sacct shows one flag in place of the base state."""


def from_number(number: int) -> JobState:
    """Read libslurm's ``job_state``."""
    base = BASE_BY_NUMBER.get(number & 0xFF)
    if base is None:
        raise UnknownState(f"Slurm's job state {number:#x} has an unknown base", state=number)
    bits = number >> 8
    flags = set()
    position = 8
    while bits:
        if bits & 1:
            if position not in FLAG_BY_BIT:
                raise UnknownState(f"Slurm's job state {number:#x} has an unknown flag", state=number)
            flags.add(FLAG_BY_BIT[position])
        bits >>= 1
        position += 1
    return JobState(base, frozenset(flags))


def from_words(words: Iterable[str]) -> JobState:
    """Read slurmrestd's list ``["RUNNING", "COMPLETING"]``."""
    base: BaseState | None = None
    flags = set()
    for word in words:
        if word in _BASE_WORDS:
            base = _BASE_WORDS[word]
        elif word in _FLAG_WORDS:
            flags.add(_FLAG_WORDS[word])
        else:
            raise UnknownState(f"Slurm's job state {word!r} is unknown", state=word)
    if base is None:
        if not flags:
            raise UnknownState("Slurm gave a job without a state", state="")
        base = _BASE_WHEN_ONLY_FLAG[sorted(flags)[0]]
    return JobState(base, frozenset(flags))


def from_accounting(text: str) -> JobState:
    """Read sacct's State: one word, ``CANCELLED by 20001`` included.

    In accounting a flag stands for how the run ended: ``REQUEUED`` and ``RESIZING`` rows are over
    (their End is set), which the caller sees by the row's end, never by this state.
    """
    word = text.split(" ", 1)[0].rstrip("+")
    return from_words([word])
