"""Rows as SQLModel classes; built only by the store, from validated values."""

from gateway.store.tables.intents import IntentRow
from gateway.store.tables.jobs import JobRow
from gateway.store.tables.keys import KeyRow

__all__ = ["IntentRow", "JobRow", "KeyRow"]
