"""Whose pod it is: from the stamp, through the owners that controllers acted for, to a Slurm user.

Pure. Anybody may write ownerReferences, so the chain is climbed only where the stamped requester is a
controller of the cluster, only inside the namespace, and only to an owner of the same uid.
"""

from __future__ import annotations

from typing import Final

from bridge.policy.refused import shown
from bridge.policy.table import TenantRules
from bridge.translate import marks
from bridge.translate.ending import Refused, Waits
from bridge.translate.meta import Meta, Owner, OwnerRef
from bridge.translate.world import World

_DEEPEST: Final = 10
"""Owners above each other; more is a circle or somebody's joke."""


def requester_of(meta: Meta, world: World) -> str:
    """Return who asked for the pod.

    Raises
    ------
    Waits
        An owner isn't there: the garbage collector is about to remove what it owned.
    Refused
        There is no stamp, or the chain doesn't end.
    """
    _owners_exist(meta, world)
    step = meta
    for _ in range(_DEEPEST):
        requester = step.annotations.get(marks.STAMP, "")
        if not requester:
            raise Refused(
                "user.stamp",
                f"{step.path} says nobody asked for it; create it again, so that admission stamps it",
            )
        owner = step.controller
        if requester not in world.settings.controllers or owner is None:
            return requester
        step = _look_up(owner, step, world).meta
    raise Refused("user.owners", f"{meta.path} has more than {_DEEPEST} owners above each other")


def _owners_exist(meta: Meta, world: World) -> None:
    """Wait where a pod's controller, of a kind that we watch, is gone."""
    owner = meta.controller
    kinds = {kind for kind, _, _ in world.owners} | _BUILT_IN
    if owner is not None and owner.kind in kinds:
        _look_up(owner, meta, world)


_BUILT_IN: Final = frozenset(
    {"Job", "CronJob", "Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "ReplicationController"}
)


def _look_up(owner: OwnerRef, below: Meta, world: World) -> Owner:
    found = world.owners.get((owner.kind, below.namespace, owner.name))
    if found is None or found.meta.uid != owner.uid:
        raise Waits(
            "owner.missing",
            f"the owner of {below.path}, {owner.kind} {owner.name}, doesn't exist; the garbage collector"
            " removes what it left",
        )
    return found


def user_of(meta: Meta, tenant: TenantRules, world: World) -> str:
    """Return the Slurm user that the pod runs as and is charged to.

    A requester that is no member runs as the tenant's service user for it, if the document has one.
    """
    requester = requester_of(meta, world)
    user = world.identities.get(requester, requester)
    rules = world.rules.users.get(user)
    if rules is not None and tenant.name in rules.tenants:
        return user
    service = world.services.get(tenant.name, {}).get(requester)
    if service is not None:
        return service
    raise Refused(
        "user.member",
        f"{shown(requester)} is not a member of tenant {tenant.name}; have them added to its document, as a"
        " member or as a service with a user",
    )
