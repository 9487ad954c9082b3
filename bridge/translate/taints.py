"""Taints and tolerations, as component-helpers/scheduling/corev1 matches them.

Pure. Only NoSchedule and NoExecute keep a pod away; PreferNoSchedule is a preference.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from bridge.translate.document import Doc
from bridge.translate.selectors import Requirement

KEEPS_AWAY: Final = frozenset({"NoSchedule", "NoExecute"})


@dataclass(frozen=True, slots=True, order=True)
class Taint:
    """One taint of a node or of a device."""

    key: str
    value: str
    effect: str

    def __str__(self) -> str:
        return f"{self.key}={self.value}:{self.effect}" if self.value else f"{self.key}:{self.effect}"


@dataclass(frozen=True, slots=True, order=True)
class Toleration:
    """One toleration; an empty key with Exists tolerates everything, an empty effect each effect."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""

    def tolerates(self, taint: Taint) -> bool:
        """Whether it makes up for the taint."""
        if self.effect and self.effect != taint.effect:
            return False
        if self.key and self.key != taint.key:
            return False
        if self.operator == "Exists":
            return True
        if self.operator in ("Gt", "Lt"):
            # Since 1.35: the taint's value is compared with the toleration's.
            return Requirement(self.key, self.operator, (self.value,)).holds({taint.key: taint.value})
        return bool(self.key) and self.value == taint.value


def untolerated(taints: Iterable[Taint], tolerations: Iterable[Toleration]) -> Taint | None:
    """Return the first taint that keeps a pod with these tolerations away."""
    held = tuple(tolerations)
    for taint in taints:
        if taint.effect in KEEPS_AWAY and not any(toleration.tolerates(taint) for toleration in held):
            return taint
    return None


def read_taint(document: Doc) -> Taint:
    """Read a taint."""
    return Taint(document.text("key"), document.text("value"), document.text("effect"))


def read_toleration(document: Doc) -> Toleration:
    """Read a toleration; no operator means Equal."""
    return Toleration(
        document.text("key"),
        document.text("operator") or "Equal",
        document.text("value"),
        document.text("effect"),
    )
