"""Ages and time-outs of a stack: the ordinary ones, and short ones for tests of faults.

Pure. What flows out: Slurm's `Timing` and the settings of Sluice's own processes, as their environment.
What doesn't belong here: what each setting means (`bridge.agent.config`, `bridge.config`,
`gateway.config`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import Enum
from typing import Final

from bridge.cluster.pool import Timing


@dataclass(frozen=True, slots=True, kw_only=True)
class Ages:
    """How long the parts of a stack wait."""

    timing: Timing = field(default_factory=Timing)
    environment: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Settings by part; a part that isn't named has its defaults."""

    def of_part(self, name: str) -> tuple[tuple[str, str], ...]:
        """Return the environment of a part."""
        return tuple(sorted(self.environment.get(name, {}).items()))


class Pace(Enum):
    """Which ages a stack has."""

    ORDINARY = "ordinary"
    QUICK = "quick"


AGES: Final[Mapping[Pace, Ages]] = {
    Pace.ORDINARY: Ages(),
    # Each wait still stands in the same order to the others as in ordinary life: an attempt ends
    # (write_deadline) before it is taken for ended (submit_settle).
    Pace.QUICK: Ages(
        timing=Timing(kill_wait=timedelta(seconds=3)),
        environment={
            "agent": {
                "SLUICE_AGENT_WRITE_DEADLINE_S": "8",
                "SLUICE_AGENT_READ_DEADLINE_S": "6",
                "SLUICE_AGENT_ACCOUNTING_DEADLINE_S": "15",
            },
            "bridge": {
                "SLUICE_BRIDGE_INTERVAL_S": "5",
                "SLUICE_BRIDGE_CLASS_TIMES": json.dumps(
                    {
                        "training": {"exempt_s": 15, "grace_s": 5},
                        "development": {"exempt_s": 15, "grace_s": 5},
                        "batch": {"grace_s": 5},
                    }
                ),
            },
            "gateway": {
                "SLUICE_GATEWAY_POLL_MAX_S": "2",
                "SLUICE_GATEWAY_ACCOUNTING_EVERY_S": "3",
                "SLUICE_GATEWAY_TENANTS_EVERY_S": "1",
                "SLUICE_GATEWAY_SUBMIT_SETTLE_S": "14",
                "SLUICE_GATEWAY_SUBMIT_RESOLVE_S": "4",
                "SLUICE_GATEWAY_REPLAY_EVERY_S": "1",
                "SLUICE_GATEWAY_REPLAY_CONFIRM_S": "2",
            },
        },
    ),
}
