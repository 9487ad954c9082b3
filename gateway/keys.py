"""``python -m gateway.keys``: makes, lists and revokes API keys, in the gateway's container.

Works on the store itself, also while the gateway runs. A new key is printed once and can't be shown again.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import partial

from bridge.errors import InputError, NotFound, SluiceError
from gateway.api_key import new_key
from gateway.config import Settings
from gateway.principal import grant_of
from gateway.store import keys
from gateway.store.audit import Action, Entry
from gateway.store.engine import Store
from gateway.store.keys import ApiKey
from gateway.store.schema import migrate


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit code (1 for a refusal, written as JSON to stderr)."""
    options = _parser().parse_args(arguments)
    try:
        settings = Settings()
        migrate(settings.database_url)
        store = Store.open(settings.database_url)
        try:
            options.run(store, options)
        finally:
            store.close()
    except SluiceError as error:
        print(json.dumps({"error": {"code": error.code, "message": error.message}}), file=sys.stderr)
        return 1
    return 0


def _create(store: Store, options: argparse.Namespace) -> None:
    now = datetime.now(UTC)
    expires_at = now + timedelta(days=options.days) if options.days else None
    text = _add(
        store,
        options.user,
        label=options.label,
        scopes=["admin"] if options.admin else options.scope,
        expires_at=expires_at,
    )
    print(json.dumps({"user": options.user, "key": text}) if options.json else text)


def _ensure(store: Store, options: argparse.Namespace) -> None:
    now = datetime.now(UTC)
    made: dict[str, str] = {}
    for user in options.user:
        if options.renew:
            for key in _valid(store, user, options.label, now):
                _end(store, key, now)
        if not _valid(store, user, options.label, now):
            made[user] = _add(store, user, label=options.label, scopes=["admin"] if options.admin else [])
    print(json.dumps(made))


def _list(store: Store, options: argparse.Namespace) -> None:
    now = datetime.now(UTC)
    found = store.read_now(partial(keys.listing, user=options.user))
    print(json.dumps([_shown(key, now) for key in found]))


def _revoke(store: Store, options: argparse.Namespace) -> None:
    key = store.read_now(partial(keys.get, key_id=options.id))
    if key is None:
        raise NotFound(f"there is no API key {options.id}; `python -m gateway.keys list` shows them")
    if key.revoked_at is None:
        _end(store, key, datetime.now(UTC))
    print(json.dumps({"revoked": options.id}))


def _add(
    store: Store, user: str, *, label: str, scopes: Sequence[str], expires_at: datetime | None = None
) -> str:
    if not user or len(user) > 64 or any(character.isspace() for character in user):
        raise InputError(f"{user!r} is not a user's name; give the Linux user that jobs run as")
    grant = grant_of(scopes) if scopes else None
    key, text = new_key(user, label=label, grant=grant, now=datetime.now(UTC), expires_at=expires_at)
    entry = _entry(key, "key.create", key.created_at, after={"user": user, "scopes": list(key.scopes)})
    store.write_now(partial(keys.add, key=key, audit_entry=entry))
    return text


def _end(store: Store, key: ApiKey, now: datetime) -> None:
    entry = _entry(key, "key.revoke", now, before={"user": key.user, "scopes": list(key.scopes)})
    store.write_now(partial(keys.revoke, key_id=key.id, now=now, audit_entry=entry))


def _entry(
    key: ApiKey,
    action: Action,
    now: datetime,
    *,
    before: dict[str, object] | None = None,
    after: dict[str, object] | None = None,
) -> Entry:
    return Entry(
        at=now,
        user="root",
        actor="command",
        action=action,
        object=key.id,
        before=before,
        after=after,
    )


def _valid(store: Store, user: str, label: str, now: datetime) -> list[ApiKey]:
    found = store.read_now(partial(keys.listing, user=user))
    return [key for key in found if key.label == label and key.valid(now)]


def _shown(key: ApiKey, now: datetime) -> dict[str, object]:
    return {
        "id": key.id,
        "user": key.user,
        "label": key.label,
        "scopes": list(key.scopes),
        "valid": key.valid(now),
        "created_at": key.created_at.isoformat(),
        "expires_at": key.expires_at.isoformat() if key.expires_at else None,
        "revoked_at": key.revoked_at.isoformat() if key.revoked_at else None,
    }


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m gateway.keys", description=__doc__)
    commands = parser.add_subparsers(required=True)

    create = commands.add_parser("create", help="make a key and print it")
    create.add_argument("--user", required=True, help="Linux user that the key's jobs run as")
    create.add_argument("--label", default="", help="what the key is for")
    create.add_argument("--admin", action="store_true", help="may see and end every tenant's jobs")
    create.add_argument(
        "--scope",
        action="append",
        default=[],
        help="read, submit, keys, admin or tenant=NAME; repeated (default: all that the user may)",
    )
    create.add_argument("--days", type=float, help="days until it expires (default: never)")
    create.add_argument("--json", action="store_true")
    create.set_defaults(run=_create)

    ensure = commands.add_parser("ensure", help="make the keys that are missing; prints {user: new key}")
    ensure.add_argument("--user", action="append", required=True)
    ensure.add_argument("--label", default="up")
    ensure.add_argument("--admin", action="store_true")
    ensure.add_argument("--renew", action="store_true", help="revoke those that exist, make new ones")
    ensure.set_defaults(run=_ensure)

    listing = commands.add_parser("list", help="all keys, without their secrets")
    listing.add_argument("--user")
    listing.set_defaults(run=_list)

    revoke = commands.add_parser("revoke", help="end a key for ever")
    revoke.add_argument("id")
    revoke.set_defaults(run=_revoke)
    return parser


if __name__ == "__main__":
    sys.exit(main())
