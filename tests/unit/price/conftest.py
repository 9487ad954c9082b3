from __future__ import annotations

from tests.unit.ledger.conftest import fresh_database

__all__ = ["fresh_database"]
