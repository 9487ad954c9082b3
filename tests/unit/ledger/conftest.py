from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from gateway.store.schema import migrate


@pytest.fixture(scope="session")
def fresh_database(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path], str]:
    """Make a migrated database in a folder; the migrations run once, the file is copied."""
    template = tmp_path_factory.mktemp("template") / "gateway.db"
    migrate(f"sqlite:///{template}")

    def make(folder: Path) -> str:
        shutil.copy(template, folder / "gateway.db")
        return f"sqlite:///{folder}/gateway.db"

    return make
