"""A gateway's migrated database, for a test that wants one of its own."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

from gateway.store.schema import migrate


@cache
def _template() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        migrate(f"sqlite:///{folder}/template.db")
        return Path(folder, "template.db").read_bytes()


def database(folder: Path) -> str:
    """Put a fresh SQLite file into `folder` and return its URL; the migrations run once a process."""
    path = folder / "gateway.db"
    path.write_bytes(_template())
    return f"sqlite:///{path}"
