"""What callers name, checked before any of Slurm's libraries sees it: numbers and users."""

from __future__ import annotations

import pwd

from bridge.errors import Denied, InputError, NotFound
from bridge.units import NO_VAL


def require_number(what: str, number: object, *, first: int) -> None:
    """Refuse what is no number of a `what` (a job, an array task).

    Slurm's fields have 32 bits, of which slurm.h gives the two highest values meanings of their own
    (NO_VAL, INFINITE).

    Raises
    ------
    InputError
        It is not an integer from `first` to below NO_VAL.
    """
    if not isinstance(number, int) or isinstance(number, bool) or not first <= number < NO_VAL:
        raise InputError(
            f"{number!r} is no number of a {what}: those are whole, from {first} to {NO_VAL - 1}"
        )


def ids_of(user: str) -> tuple[int, int]:
    """Return uid and gid of a user whom this host knows; never root's or SlurmUser's kind.

    Raises
    ------
    NotFound
        Nobody has that name.
    Denied
        It is a system account.
    """
    try:
        entry = pwd.getpwnam(user)
    except KeyError as error:
        raise NotFound(f"user {user} does not exist on the cluster", user=user) from error
    if entry.pw_uid < 1000:
        raise Denied(f"{user} is a system account (uid {entry.pw_uid}); jobs run as people")
    return entry.pw_uid, entry.pw_gid
