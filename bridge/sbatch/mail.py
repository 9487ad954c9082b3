"""``--mail-type``: the events that send mail, as parse_mail_type() of proc_args.c reads them."""

from __future__ import annotations

from typing import Final

from bridge.sbatch.ctext import lower, tokens

EVENTS: Final = (
    *("ARRAY_TASKS", "INVALID_DEPEND", "BEGIN", "END", "FAIL", "REQUEUE", "STAGE_OUT"),
    *("TIME_LIMIT_50", "TIME_LIMIT_80", "TIME_LIMIT_90", "TIME_LIMIT"),
)
"""In the order in which Slurm prints them."""

ALL: Final = frozenset({"INVALID_DEPEND", "BEGIN", "END", "FAIL", "REQUEUE", "STAGE_OUT"})
_BY_NAME: Final = {lower(name): name for name in EVENTS}


def events(text: str) -> tuple[str, ...] | None:
    """Read ``--mail-type``; unknown words are passed over, None when nothing known is left.

    ``NONE`` ends the list and drops what came before it.
    """
    wanted: set[str] = set()
    for token in tokens(text, ","):
        word = lower(token)
        if word == "none":
            return ()
        if word == "all":
            wanted |= ALL
        elif word in _BY_NAME:
            wanted.add(_BY_NAME[word])
    return tuple(name for name in EVENTS if name in wanted) or None
