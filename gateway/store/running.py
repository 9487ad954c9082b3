"""Runs without end, as accounting and slurmctld last showed them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import sqlalchemy as sa
from sqlmodel import Session

from gateway.ledger.amounts import Payer, Rates
from gateway.ledger.charge import Charge, Line, RunKey
from gateway.ledger.running import Running, confirmed
from gateway.store.columns import MAX_VARIABLES
from gateway.store.tables import PAYERS, RUNNING


def replace(
    session: Session,
    keys: Collection[RunKey],
    charges: Mapping[RunKey, Charge],
    numbers: Mapping[Payer, int],
) -> None:
    """Make `charges` what is known of the runs without end among `keys`; the others have one now.

    When slurmctld last confirmed a run is kept.
    """
    before = _confirmations(session, keys)
    _delete(session, before)
    rows = [
        {
            "cluster": key.cluster,
            "db_index": key.db_index,
            "payer_id": numbers[line.payer],
            "start_s": charge.start_s,
            "suspended_s": charge.suspended_s,
            "runs": line.runs,
            "gpus": line.rates.gpus,
            "cpus": line.rates.cpus,
            "memory_mib": line.rates.memory_mib,
            "nodes": line.rates.nodes,
            "billing": line.rates.billing,
            "job_id": charge.job_id,
            "name": charge.name,
            "state": charge.state,
            "confirmed_s": before.get(key),
            "seen": True,
            "missing": False,
        }
        for key, charge in charges.items()
        for line in charge.lines
    ]
    if rows:
        session.execute(sa.insert(RUNNING), rows)


def complete(session: Session, *, cluster: str, as_of_s: int, live: frozenset[int] | None) -> None:
    """Note the end of a whole scan: what slurmctld confirmed, and what the scan did not show.

    Parameters
    ----------
    live
        Job numbers that hold resources in slurmctld; None when it did not answer, which confirms nothing
        and denies nothing.
    """
    own = RUNNING.c.cluster == cluster
    if live is not None:
        keys = confirmed(of_tenants(session, None, cluster=cluster), live)
        for some in _portions(keys):
            session.execute(sa.update(RUNNING).where(own, _among(some)).values(confirmed_s=as_of_s))
    session.execute(sa.update(RUNNING).where(own).values(missing=sa.not_(RUNNING.c.seen), seen=False))


def unsettled(session: Session, *, cluster: str) -> tuple[int, ...]:
    """Return the job numbers of runs that the last whole scan did not show, ascending."""
    statement = (
        sa.select(RUNNING.c.job_id)
        .where(RUNNING.c.cluster == cluster, RUNNING.c.missing)
        .distinct()
        .order_by(RUNNING.c.job_id)
    )
    return tuple(session.execute(statement).scalars())


def remove(session: Session, *, cluster: str, job_id: int) -> None:
    """Forget the runs of a job number that slurmdbd has no row of any more."""
    session.execute(sa.delete(RUNNING).where(RUNNING.c.cluster == cluster, RUNNING.c.job_id == job_id))


def of_tenants(
    session: Session, tenants: frozenset[str] | None, *, cluster: str | None = None
) -> list[Running]:
    """Return the runs without end, by start; of all tenants when `tenants` is None."""
    statement = (
        sa.select(
            *(RUNNING.c.cluster, RUNNING.c.db_index, RUNNING.c.start_s, RUNNING.c.suspended_s),
            *(RUNNING.c.job_id, RUNNING.c.name, RUNNING.c.state, RUNNING.c.confirmed_s, RUNNING.c.runs),
            *(RUNNING.c.gpus, RUNNING.c.cpus, RUNNING.c.memory_mib, RUNNING.c.nodes, RUNNING.c.billing),
            *(PAYERS.c.tenant, PAYERS.c.user, PAYERS.c.job_class, PAYERS.c.flavor, PAYERS.c.door),
        )
        .join(PAYERS, PAYERS.c.id == RUNNING.c.payer_id)
        .order_by(
            RUNNING.c.start_s,
            *(RUNNING.c.cluster, RUNNING.c.db_index),
            *(RUNNING.c.runs.desc(), RUNNING.c.payer_id),
        )
    )
    if tenants is not None:
        statement = statement.where(PAYERS.c.tenant.in_(sorted(tenants)))
    if cluster is not None:
        statement = statement.where(RUNNING.c.cluster == cluster)
    return _grouped(session.execute(statement))


def _grouped(rows: Iterable[Any]) -> list[Running]:
    found: dict[RunKey, Running] = {}
    for cluster, index, start_s, suspended_s, job_id, name, state, confirmed_s, runs, *rest in rows:
        key = RunKey(cluster, index)
        line = Line(Payer(*rest[5:]), runs, Rates(*rest[:5]))
        lines = (*found[key].charge.lines, line) if key in found else (line,)
        found[key] = Running(
            Charge(
                key=key,
                job_id=job_id,
                name=name,
                state=state,
                start_s=start_s,
                end_s=None,
                suspended_s=suspended_s,
                lines=lines,
            ),
            confirmed_s,
        )
    return list(found.values())


def _confirmations(session: Session, keys: Collection[RunKey]) -> dict[RunKey, int | None]:
    statement = sa.select(RUNNING.c.cluster, RUNNING.c.db_index, RUNNING.c.confirmed_s)
    found: dict[RunKey, int | None] = {}
    for some in _portions(keys):
        for cluster, index, confirmed_s in session.execute(statement.where(_among(some))):
            found[RunKey(cluster, index)] = confirmed_s
    return found


def _delete(session: Session, keys: Collection[RunKey]) -> None:
    for some in _portions(keys):
        session.execute(sa.delete(RUNNING).where(_among(some)))


def _portions(keys: Collection[RunKey]) -> Iterable[list[RunKey]]:
    """Yield keys in portions of one cluster each that a statement can carry."""
    by_cluster: dict[str, list[RunKey]] = {}
    for key in sorted(keys, key=lambda key: (key.cluster, key.db_index)):
        by_cluster.setdefault(key.cluster, []).append(key)
    for same in by_cluster.values():
        for start in range(0, len(same), MAX_VARIABLES - 10):
            yield same[start : start + MAX_VARIABLES - 10]


def _among(keys: list[RunKey]) -> sa.ColumnElement[bool]:
    indexes = [key.db_index for key in keys]
    return sa.and_(RUNNING.c.cluster == keys[0].cluster, RUNNING.c.db_index.in_(indexes))
