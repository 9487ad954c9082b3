"""What counts against associations in the fake: limits as they were put, use by the jobs that are kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from bridge.job import FINISHED, BaseState
from bridge.slurm.fake_queue import FakeJob, status_of
from bridge.slurm.port import Association, AssociationUse


def uses_of(
    associations: Mapping[tuple[str, str], Association],
    records: Iterable[FakeJob],
    accounts: Sequence[str],
    user: str,
) -> Iterator[AssociationUse]:
    """Yield what `Slurm.uses` returns."""
    live = [status_of(job) for job in records if not job.purged and job.run.state.base not in FINISHED]
    for (account, who), association in associations.items():
        if account not in accounts or who not in ("", user):
            continue
        below = _below(associations, account)
        mine = [job for job in live if job.account in below and who in ("", job.user)]
        running = [job for job in mine if job.state.base is BaseState.RUNNING]
        used: dict[str, int] = {}
        for job in running:
            for name, count in job.tres_allocated.items():
                used[name] = used.get(name, 0) + count
        yield AssociationUse(
            account=account,
            user=who,
            parent="" if who else association.parent or "root",
            limit=dict(association.grp_tres),
            used=used,
            running_jobs=len(running),
            submitted_jobs=len(mine),
            max_running_jobs=association.max_jobs if who else association.grp_jobs,
            max_submitted_jobs=association.max_submit_jobs if who else association.grp_submit_jobs,
        )


def _below(associations: Mapping[tuple[str, str], Association], account: str) -> set[str]:
    found = {account}
    while more := {a.account for a in associations.values() if not a.user and a.parent in found} - found:
        found |= more
    return found
