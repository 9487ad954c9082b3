"""What slurmctld grants to whoever submits: the agent submits as SlurmUser, and a user must not gain by it.

Pure. slurmctld judges four things by the submitter's uid, not by the job's (src/slurmctld/job_mgr.c):
rebooting nodes, a negative nice, a priority, and partitions with RootOnly. All else it judges by the job's
user. Here they are judged as for an ordinary user, in slurmctld's words; it drops such a user's priority.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from bridge.errors import SlurmRefused
from bridge.job import JobSpec
from bridge.slurm.errnos import Errno

_DENIED: Final = "Access/permission denied"
_NO_REBOOT: Final = f"rebooting of nodes is only allowed for admins ({_DENIED})"


def as_ordinary(spec: JobSpec, root_only: Callable[[], frozenset[str]]) -> JobSpec:
    """Return the job as an ordinary user's.

    Parameters
    ----------
    root_only
        Gives the partitions that root alone may use; asked only where the job names one.

    Raises
    ------
    SlurmRefused
        slurmctld would refuse it to an ordinary user.
    """
    if spec.reboot:
        raise SlurmRefused(_NO_REBOOT, errno=Errno.ACCESS_DENIED)
    if (spec.nice or 0) < 0:
        raise SlurmRefused("Invalid --nice value", errno=Errno.INVALID_NICE)
    named = [name for name in (spec.partition or "").split(",") if name]
    if named and root_only().issuperset(named):
        raise SlurmRefused(_DENIED, errno=Errno.ACCESS_DENIED)
    return spec if spec.priority is None else replace(spec, priority=None)
