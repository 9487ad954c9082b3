"""Where each tenant stands, for whoever asks: what was carried out, who drains, what is odd. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from bridge.errors import SluiceError
from bridge.policy.documents import Sourced
from bridge.policy.moment import NO_MOMENT, Moment
from bridge.policy.pool import Pool

SETTLED: Final = "applied"


@dataclass(frozen=True, slots=True)
class TenantState:
    """Where a tenant stands: whether all of it is in force, one sentence, since when (UTC)."""

    applied: bool
    message: str
    at: datetime


@dataclass(frozen=True, slots=True)
class View:
    """What is known now, for whoever asks; replaced as a whole."""

    revision: int = 0
    documents: tuple[Sourced, ...] = ()
    states: Mapping[str, TenantState] = field(default_factory=dict)
    pool: Pool | None = None
    moment: Moment = NO_MOMENT


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a pass ended: why it failed, who drains (``tenant`` or ``tenant/user``), what is odd."""

    failed: SluiceError | None = None
    draining: Mapping[str, str] = field(default_factory=dict)
    notes: Mapping[str, str] = field(default_factory=dict)


def states_of(
    documents: tuple[Sourced, ...], outcome: Outcome, *, old: Mapping[str, TenantState], now: datetime
) -> Mapping[str, TenantState]:
    """Return the states after a pass; one that says the same as before keeps its time."""
    fresh: dict[str, TenantState] = {}
    for sourced in documents:
        name = sourced.tenant.name
        said = [
            f"{who.partition('/')[2]} {why}"
            for who, why in outcome.draining.items()
            if who.startswith(f"{name}/")
        ]
        if name in outcome.notes:
            said.append(outcome.notes[name])
        message = outcome.failed.message if outcome.failed else "; ".join(said) or SETTLED
        fresh[name] = TenantState(outcome.failed is None, message, now)
    for who, why in outcome.draining.items():
        if "/" not in who:
            fresh.setdefault(who, TenantState(False, why, now))
    return {name: _kept(old.get(name), state) for name, state in fresh.items()}


def _kept(old: TenantState | None, new: TenantState) -> TenantState:
    same = old is not None and (old.applied, old.message) == (new.applied, new.message)
    return old if old is not None and same else new
