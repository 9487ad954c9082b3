"""Rows as SQLModel classes; built only by the store, from validated values."""
