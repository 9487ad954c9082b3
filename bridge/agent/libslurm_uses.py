"""Limits and use of associations, from slurmctld's own memory (`scontrol show assoc_mgr` shows the same).

Runs only in the native child. In: names of accounts. Out: `AssociationUse`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from _sluice_libslurm import ffi, lib

from bridge.agent.libslurm import CallFailed
from bridge.slurm.port import AssociationUse
from bridge.units import INFINITE

_INFINITE64: Final = 0xFFFFFFFFFFFFFFFF
_NO_VAL64: Final = 0xFFFFFFFFFFFFFFFE
_NO_VAL: Final = 0xFFFFFFFE


def uses(accounts: Sequence[str], user: str) -> list[AssociationUse]:
    """Return the accounts' associations and those of `user` in them; raises `CallFailed`."""
    names = [ffi.new("char[]", name.encode()) for name in accounts]
    answer = ffi.new("assoc_mgr_info_msg_t **")
    errno = lib.sluice_load_uses(ffi.new("char *[]", names), len(names), answer)
    if errno:
        raise CallFailed(errno)
    try:
        count = lib.sluice_count_uses(answer[0])
        records = ffi.new("slurmdb_assoc_rec_t *[]", max(count, 1))
        count = lib.sluice_uses(answer[0], records, count)
        tres = [_text(answer[0].tres_names[at]) for at in range(answer[0].tres_cnt)]
        return list(_wanted((records[at] for at in range(count)), tres, user))
    finally:
        lib.slurm_free_assoc_mgr_info_msg(answer[0])


def _wanted(records: Iterator[Any], tres: Sequence[str], user: str) -> Iterator[AssociationUse]:
    for record in records:
        who = _text(record.user)
        # An association of one partition is somebody else's: Sluice makes none.
        if who in ("", user) and not _text(record.partition):
            yield _use(record, who, tres)


def _use(record: Any, who: str, tres: Sequence[str]) -> AssociationUse:  # noqa: ANN401 - a C structure
    usage = record.usage
    known = usage != ffi.NULL
    return AssociationUse(
        account=_text(record.acct),
        user=who,
        parent="" if who else _text(record.parent_acct),
        limit=_counts(record.grp_tres_ctld, tres),
        used={name: n for name, n in _counts(usage.grp_used_tres, tres).items() if n} if known else {},
        running_jobs=usage.used_jobs if known else 0,
        submitted_jobs=usage.used_submit_jobs if known else 0,
        max_running_jobs=_limit(record.max_jobs if who else record.grp_jobs),
        max_submitted_jobs=_limit(record.max_submit_jobs if who else record.grp_submit_jobs),
    )


def _counts(numbers: Any, tres: Sequence[str]) -> dict[str, int]:  # noqa: ANN401 - a C array
    if numbers == ffi.NULL:
        return {}
    listed = ((name, int(numbers[at])) for at, name in enumerate(tres))
    return {name: number for name, number in listed if number not in (_INFINITE64, _NO_VAL64)}


def _limit(number: int) -> int | None:
    return None if number in (INFINITE, _NO_VAL) else number


def _text(chars: Any) -> str:  # noqa: ANN401 - a C string
    return "" if chars == ffi.NULL else ffi.string(chars).decode(errors="replace")
