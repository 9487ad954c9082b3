"""What is so just now and changes without any document: budgets that are used up, maintenance windows.

Pure pydantic. The ledger says the first, Slurm's reservations the second; both go into the table
(`bridge.policy.table`), and the gateway gets them with the documents.
"""

from __future__ import annotations

from typing import Final

from pydantic import AwareDatetime, BaseModel, ConfigDict


class Exhausted(BaseModel):
    """The ledger's word that a tenant has used up its budget."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    budget: str
    """Which one, as `bridge.policy.grants.Budget.text` writes it; a word about another one counts nothing."""
    until: AwareDatetime
    """When the next period begins; from then on the word counts nothing."""


class Maintenance(BaseModel):
    """A maintenance reservation of Slurm's."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    starts_at: AwareDatetime
    ends_at: AwareDatetime
    nodes: frozenset[str]


class Moment(BaseModel):
    """All of it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    exhausted: dict[str, Exhausted] = {}
    """By tenant."""
    maintenance: tuple[Maintenance, ...] = ()


NO_MOMENT: Final = Moment()
