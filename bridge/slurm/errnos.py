"""Slurm's error numbers to Sluice's errors: which mean "try later", which "no such thing", which "no".

Pure and total: a number that is not listed is a refusal with Slurm's own words. Numbers are
slurm_errno.h's (26.05); the fake (`bridge.slurm.fake`) raises with the same ones. Never decide by text.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final

from bridge.errors import NotFound, OutcomeUnknown, SluiceError, SlurmRefused, Unavailable


class Errno(IntEnum):
    """The numbers that Sluice names."""

    CONNECTION = 1001
    SEND = 1002
    RECEIVE = 1003
    SHUTDOWN = 1004
    AUTHENTICATION = 1007
    CONNECT_TIMEOUT = 1021
    WRITE_TIMEOUT = 1022
    READ_TIMEOUT = 1023
    CTLD_CONNECTION = 1800
    CTLD_SEND = 1801
    CTLD_RECEIVE = 1802
    CTLD_SHUTDOWN = 1803
    CTLD_BACKOFF = 1804
    CTLD_HARD_DROP = 1805
    NO_CHANGE_IN_DATA = 1900
    INVALID_PARTITION = 2000
    ACCESS_DENIED = 2002
    MAX_JOB_COUNT = 2007
    SCRIPT_MISSING = 2009
    USER_ID_MISSING = 2010
    NOT_TOP_PRIORITY = 2013
    NODE_CONFIG_UNAVAILABLE = 2014
    PART_CONFIG_UNAVAILABLE = 2015
    NODES_BUSY = 2016
    INVALID_JOB_ID = 2017
    TRANSITION_STATE_NO_UPDATE = 2020
    ALREADY_DONE = 2021
    JOB_PENDING = 2024
    IN_STANDBY_MODE = 2027
    DEPENDENCY = 2038
    LICENSES_UNAVAILABLE = 2040
    JOB_HELD = 2042
    INVALID_ACCOUNT = 2045
    ACCOUNTING_POLICY = 2050
    RESERVATION_BUSY = 2055
    RESERVATION_NOT_USABLE = 2056
    INVALID_QOS = 2066
    INVALID_GRES = 2072
    NODE_NOT_AVAIL = 2068
    QOS_THRESHOLD = 2074
    BURST_BUFFER_WAIT = 2100
    INVALID_NICE = 2123
    PARTITION_DOWN = 2101
    JOB_FINISHED = 2084
    INVALID_ARRAY = 2081
    SUBMISSIONS_DISABLED = 2105
    USER_ID_UNKNOWN = 2166
    IN_STANDBY_USE_BACKUP = 2131
    SOCKET_TIMEOUT = 5004
    DB_CONNECTION = 7000
    DB_CONNECTION_INVALID = 7008
    REST_EMPTY_RESULT = 9003


NOT_SENT: Final = frozenset(
    {
        Errno.CONNECTION,
        Errno.CONNECT_TIMEOUT,
        Errno.CTLD_CONNECTION,
        Errno.CTLD_BACKOFF,
        Errno.IN_STANDBY_MODE,
        Errno.IN_STANDBY_USE_BACKUP,
        Errno.SUBMISSIONS_DISABLED,
        Errno.MAX_JOB_COUNT,
        Errno.DB_CONNECTION,
        Errno.DB_CONNECTION_INVALID,
    }
)
"""Slurm doesn't take the request now and did nothing with it: the same may be sent again."""

MAYBE_DONE: Final = frozenset(
    {
        Errno.SEND,
        Errno.RECEIVE,
        Errno.SHUTDOWN,
        Errno.WRITE_TIMEOUT,
        Errno.READ_TIMEOUT,
        Errno.CTLD_SEND,
        Errno.CTLD_RECEIVE,
        Errno.CTLD_SHUTDOWN,
        Errno.CTLD_HARD_DROP,
        Errno.SOCKET_TIMEOUT,
    }
)
"""The request left us and no answer came; "Socket timed out" on a submit often made the job."""

QUEUED: Final = frozenset(
    {
        Errno.PART_CONFIG_UNAVAILABLE,
        Errno.NODES_BUSY,
        Errno.NOT_TOP_PRIORITY,
        Errno.DEPENDENCY,
        Errno.LICENSES_UNAVAILABLE,
        Errno.JOB_HELD,
        Errno.RESERVATION_BUSY,
        Errno.RESERVATION_NOT_USABLE,
        Errno.NODE_NOT_AVAIL,
        Errno.QOS_THRESHOLD,
        Errno.BURST_BUFFER_WAIT,
        Errno.PARTITION_DOWN,
    }
)
"""Reasons to wait: will-run refuses with them, a submission is queued (job_allocate of slurmctld)."""

UNKNOWN_JOB: Final = frozenset({Errno.INVALID_JOB_ID})
ENDED: Final = frozenset({Errno.ALREADY_DONE, Errno.JOB_FINISHED})
"""Cancelling such a job is no error."""


def error_of(errno: int, words: str, *, write: bool, part: str = "slurmctld") -> SluiceError:
    """Return the error that Slurm's `errno` and `words` stand for.

    Parameters
    ----------
    errno
        Slurm's number; -1 (SLURM_ERROR) and unknown numbers are refusals.
    words
        Slurm's own text: shown, never interpreted.
    write
        Whether the request changes something: then a lost answer is `OutcomeUnknown`.
    """
    if errno in NOT_SENT:
        return Unavailable(f"{part} does not take requests now: {words}", part=part, errno=errno)
    if errno in MAYBE_DONE:
        if write:
            return OutcomeUnknown(f"{part} gave no answer: {words}", part=part, errno=errno)
        return Unavailable(f"{part} gave no answer: {words}", part=part, errno=errno)
    if errno in UNKNOWN_JOB:
        return NotFound(f"Slurm does not know this job: {words}", errno=errno)
    return SlurmRefused(words, errno=errno)
