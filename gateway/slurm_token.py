"""Tokens of Slurm's own: how somebody on a login node shows who they are, without a key of ours.

`scontrol token` gives each user a short token for themselves. This process has none of Slurm's keys: the
slurm-agent says whom a token stands for. Told apart from tokens of OIDC issuers by having no ``iss``.
"""

from __future__ import annotations

from functools import partial

import anyio.to_thread

from bridge.errors import Unauthenticated
from bridge.policy.tenant import may_be_member
from bridge.slurm.port import Slurm

DOTS = 2
LONGEST = 4096


def may_be_slurms(text: str) -> bool:
    """Whether a text has the form of such a token."""
    return len(text) <= LONGEST and text.count(".") == DOTS


async def holder(slurm: Slurm, text: str) -> str:
    """Return the user of a token.

    Raises
    ------
    Unauthenticated
        It isn't valid, or stands for a user of the system: those have no business here.
    """
    user = await anyio.to_thread.run_sync(partial(slurm.user_of_token, text))
    if not may_be_member(user):
        raise Unauthenticated(
            f"the token is {user[:40]!r}'s, a user of the system; use an administrator's key"
        )
    return user
