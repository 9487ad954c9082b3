"""Rows as SQLModel classes; built only by the store, from validated values."""

from gateway.store.tables.audit import AuditRow
from gateway.store.tables.cursors import CursorRow
from gateway.store.tables.entries import (
    DAYS,
    ENTRIES,
    PAYERS,
    RUNNING,
    DayRow,
    EntryRow,
    PayerRow,
    RunningRow,
)
from gateway.store.tables.intents import IntentRow
from gateway.store.tables.jobs import JobRow
from gateway.store.tables.keys import KeyRow
from gateway.store.tables.prices import PriceBookRow, TermsRow

__all__ = [
    "DAYS",
    "ENTRIES",
    "PAYERS",
    "RUNNING",
    "AuditRow",
    "CursorRow",
    "DayRow",
    "EntryRow",
    "IntentRow",
    "JobRow",
    "KeyRow",
    "PayerRow",
    "PriceBookRow",
    "RunningRow",
    "TermsRow",
]
