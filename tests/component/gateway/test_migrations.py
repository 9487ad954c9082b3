"""Databases of before: what a migration makes of rows that were there."""

from pathlib import Path

import sqlalchemy as sa
from alembic import command
from alembic.config import Config

from gateway.store import keys
from gateway.store.engine import Store
from gateway.store.schema import migrate

SCRIPTS = Path(__file__).parents[3] / "gateway" / "store" / "migrations"
ADD = """
INSERT INTO api_keys (id, user, label, admin, secret_sha256, created_at)
VALUES (:id, :id, '', :admin, :id, '2026-11-01 00:00:00')
"""


def test_a_key_of_before_may_what_it_could(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'gateway.db'}"
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        config = Config()
        config.set_main_option("script_location", str(SCRIPTS))
        config.attributes["connection"] = connection
        command.upgrade(config, "0003")
        for name, admin in (("ada", False), ("office", True)):
            connection.execute(sa.text(ADD), {"id": name, "admin": admin})
    engine.dispose()
    migrate(url)
    store = Store.open(url)
    found = {key.id: key.scopes for key in store.read_now(keys.listing)}
    store.close()
    assert found == {"ada": ("read", "submit", "keys"), "office": ("admin",)}
