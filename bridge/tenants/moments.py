"""What is so just now, read where it is kept: the ledger's word on budgets, Slurm's maintenance reservations.

What flows in: a file beside the documents, which the ledger's words are written to, and the port. What flows
out: `Moment`. Does I/O, for `bridge.tenants.flow`.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Final

import structlog
from pydantic import BaseModel, ConfigDict, ValidationError

from bridge.errors import InputError
from bridge.policy.moment import Exhausted, Maintenance, Moment
from bridge.slurm.port import Slurm
from bridge.tenants.source import replace_file

_log = structlog.get_logger(__name__)

BUDGETS_FILE: Final = ".budgets.json"
MAINTENANCE: Final = "MAINT"
FLOATING: Final = "TIME_FLOAT"
"""Such a reservation begins later and later: it is a distance, not a window."""


class _Words(BaseModel):
    model_config = ConfigDict(extra="forbid")

    exhausted: dict[str, Exhausted]


class Moments:
    """Reads the moment; keeps the ledger's last word.

    Parameters
    ----------
    folder
        That of the documents.
    """

    def __init__(self, *, slurm: Slurm, folder: Path) -> None:
        self._slurm = slurm
        self._path = folder / BUDGETS_FILE

    def now(self, at: datetime) -> Moment:
        """Return what is so at `at` or will be; raises `Unavailable` when Slurm doesn't say."""
        exhausted = {name: word for name, word in self._words().items() if word.until > at}
        return Moment(exhausted=dict(sorted(exhausted.items())), maintenance=self._maintenance(at))

    def say(self, exhausted: object) -> None:
        """Keep the ledger's word, which replaces the one before: tenant to `Exhausted`.

        Raises
        ------
        InputError
            It isn't one; the word before stays.
        """
        try:
            words = _Words.model_validate({"exhausted": exhausted})
        except ValidationError as error:
            where = ".".join(str(part) for part in error.errors()[0]["loc"])
            sentence = f"budgets: {where}: {error.errors()[0]['msg']}; give {{tenant: {{budget, until}}}}"
            raise InputError(sentence) from error
        self._path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(self._path, words.model_dump_json(indent=1).encode())

    def _words(self) -> dict[str, Exhausted]:
        try:
            return _Words.model_validate_json(self._path.read_bytes()).exhausted
        except FileNotFoundError:
            return {}
        except ValidationError:
            # Nobody is stopped by a broken file: the ledger says it again.
            _log.warning("the file of used-up budgets can't be read", path=str(self._path))
            return {}

    def _maintenance(self, at: datetime) -> tuple[Maintenance, ...]:
        return tuple(
            Maintenance(
                name=each.name,
                starts_at=each.starts_at,
                ends_at=each.ends_at,
                nodes=frozenset(each.nodes),
            )
            for each in self._slurm.reservations()
            if MAINTENANCE in each.flags and FLOATING not in each.flags and each.ends_at > at
        )
