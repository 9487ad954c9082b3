"""The tenant document: who they are, what they share, what they may use.

Pure pydantic, ``extra="forbid"``: one model for YAML files, for the custom resource `Tenant` and for
the API. What flows in: a mapping from YAML or JSON. What flows out: a validated, frozen `Tenant`.
Rules across tenants (two of one name, guarantees above the pool) are in `bridge.policy.pool`; reading
files is `bridge.tenants.source`.
"""

from __future__ import annotations

import re
from typing import Annotated, Final, Literal, Self

from pydantic import Field, StringConstraints, field_validator, model_validator
from pydantic.config import JsonDict

from bridge.policy.grants import Budget, Classes, Count, Document, FlavorGrant, JobClass, Limits
from bridge.policy.identity import USER_NAME, Identity, PosixGroup, Role, Service, UserName
from bridge.policy.reserved import RESERVED_USERS
from bridge.wellknown import CLASSES, FIRST_TENANT_UID, LAST_TENANT_UID

__all__ = [
    "Budget",
    "Classes",
    "Count",
    "Document",
    "FlavorGrant",
    "JobClass",
    "Limits",
    "Member",
    "Mode",
    "PosixGroup",
    "Role",
    "Service",
    "Tenant",
]

Mode = Literal["observe", "warn", "enforce"]
"""What the rules do with a job that they refuse; below `enforce` a job goes on as it was asked."""

RESERVED_NAMES: Final = frozenset({"root", "normal", "slurm", "sluice", "default", "all", "none", *CLASSES})
"""Names of tenants that would mean something to Slurm, to Sluice or to the system already."""

TENANT_NAME: Final = r"^[a-z][a-z0-9-]{0,29}$"
"""DNS label, at most 30 characters: ``production-<tenant>`` stays below Slurm's 40 bytes."""

MAX_DISPLAY: Final = 200
"""Characters of a display name."""

Name = Annotated[str, StringConstraints(pattern=TENANT_NAME)]
Uid = Annotated[int, Field(strict=True, ge=FIRST_TENANT_UID, le=LAST_TENANT_UID)]
Namespace = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$")]
"""A DNS label, as Kubernetes names namespaces."""
RESERVED_NAMESPACES: Final = frozenset({"default", "sluice", "sluice-system", "slurm"})
"""Besides all that begin with ``kube-``."""
PriceBook = Annotated[str, StringConstraints(pattern=TENANT_NAME)]
FlavorName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9._-]{0,29}$")]


def _none_of(names: frozenset[str]) -> JsonDict:
    return {"not": {"enum": [*sorted(names)]}}


def _of_the_system(user: str) -> bool:
    return user in RESERVED_USERS or user.startswith("systemd-")


def may_be_member(user: str) -> bool:
    """Whether a document can name the user."""
    return re.fullmatch(USER_NAME, user) is not None and not _of_the_system(user)


def may_be_tenant(account: str) -> bool:
    """Whether a document can have the account's name."""
    return re.fullmatch(TENANT_NAME, account) is not None and account not in RESERVED_NAMES


class Member(Document):
    """A person of the tenant, a Linux user on login and GPU nodes."""

    user: Annotated[UserName, Field(json_schema_extra=_none_of(RESERVED_USERS))]
    uid: Uid | None = None
    """Fixed uid; without it the bridge gives one from its range and never gives it again."""
    role: Role = "member"
    """A manager may end the tenant's jobs."""
    subject: Annotated[str, StringConstraints(min_length=1, max_length=255)] | None = None
    """OIDC subject: tokens with it are this user's."""
    issuer: str | None = None
    """The issuer of `subject`, as tokens have it in `iss`; needed where a site has several issuers."""
    default: Annotated[bool, Field(strict=True)] = False
    """Of several tenants this is the user's default; without a mark, the first by name."""

    @field_validator("user")
    @classmethod
    def _not_a_system_user(cls, user: str) -> str:
        if _of_the_system(user):
            raise ValueError(f"{user!r} is a user or group of the system itself; choose another name")
        return user


class Tenant(Document):
    """One tenant, whole. In Slurm it is the account of the same name."""

    name: Annotated[Name, Field(json_schema_extra=_none_of(RESERVED_NAMES))]
    """The tenant and its account in Slurm."""
    display_name: Annotated[str, StringConstraints(max_length=MAX_DISPLAY)] = ""
    """For people; one line."""
    parent: Name | None = None
    """The tenant above this one; its limits hold for all below it."""
    weight: Annotated[int, Field(strict=True, ge=1, le=65533)] = 1
    """Fair-share weight among siblings (Slurm's RawShares)."""
    members: tuple[Member, ...] = ()
    """The people; the same user may be a member of several tenants."""
    identity: Identity = "local"
    """Where `members` come from: local, Sluice makes the users; nss, the site's directory has them."""
    groups: tuple[PosixGroup, ...] = ()
    """Groups of the site's directory whose members are members, too; they are looked up again and again."""
    services: tuple[Service, ...] = ()
    """Programs that submit with tokens of a Kubernetes cluster or another OIDC issuer."""
    flavors: Annotated[
        dict[FlavorName, FlavorGrant], Field(json_schema_extra={"additionalProperties": False})
    ] = {}  # noqa: RUF012 - pydantic copies it
    """GPUs by flavor; the first is taken when a job says nothing about GPUs."""
    classes: Classes = Classes()
    limits: Limits = Limits()
    budget: Budget | None = None
    """What may be used in a calendar month, by this tenant and all below it; none by default."""
    price_book: PriceBook | None = None
    """Name of the price book that its usage is billed by; without it, the default one."""
    namespaces: tuple[Namespace, ...] = ()
    """Kubernetes namespaces that are the tenant's; each belongs to one tenant alone."""
    managed: Annotated[bool, Field(strict=True)] = True
    """false: Slurm's account and associations are somebody else's; what differs is shown and left alone.
    Written true: an account of this name that Sluice did not make is handed over to it."""
    rules: Mode = "enforce"
    """enforce: jobs are filled in or refused. warn: they go on as they are asked, and the user is told what
    would be refused. observe: the same, and only slurmctld's log is told."""

    @field_validator("display_name")
    @classmethod
    def _one_line(cls, text: str) -> str:
        # Slurm would store it otherwise, and the difference be repaired for ever.
        if not text.isprintable():
            raise ValueError("has a line break or another character that can't be printed; write one line")
        return text

    @field_validator("name")
    @classmethod
    def _not_reserved(cls, name: str) -> str:
        if name in RESERVED_NAMES:
            raise ValueError(f"{name!r} is reserved; choose another name")
        return name

    @field_validator("namespaces")
    @classmethod
    def _own_namespaces(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        for name in names:
            if name in RESERVED_NAMESPACES or name.startswith("kube-"):
                raise ValueError(f"namespace {name!r} is the system's own; choose another")
        doubled = sorted({name for name in names if names.count(name) > 1})
        if doubled:
            raise ValueError(f"names {', '.join(doubled)} twice; keep one entry each")
        return names

    @model_validator(mode="after")
    def _agrees(self) -> Self:
        if self.parent == self.name:
            raise ValueError("parent is the tenant itself; name another tenant or leave it out")
        if self.rules == "enforce" and not self.managed:
            raise ValueError(
                "rules enforce, which fills in QOS that only a managed account has; write `rules: observe` or"
                " `rules: warn`, or leave `managed: false` out"
            )
        users = [member.user for member in self.members]
        doubled = sorted({user for user in users if users.count(user) > 1})
        if doubled:
            raise ValueError(f"members names {', '.join(doubled)} twice; keep one entry each")
        self._check_identity(users)
        if "production" in self.classes.allowed and not any(
            grant.guarantee for grant in self.flavors.values()
        ):
            raise ValueError(
                "classes.allowed has production, which runs on guaranteed GPUs only, and no flavor has a"
                " guarantee; give one or take production out"
            )
        return self

    def _check_identity(self, users: list[str]) -> None:
        names = [group.group for group in self.groups]
        if len(set(names)) < len(names):
            raise ValueError("groups names a group twice; keep one entry each")
        strangers = sorted({service.user for service in self.services} - set(users))
        if strangers and not self.groups:
            raise ValueError(f"services run as {', '.join(strangers)}, who is no member; add it to members")
        if self.identity == "nss" and any(member.uid is not None for member in self.members):
            raise ValueError("identity nss takes uids from the site's directory; leave members[].uid out")

    @property
    def adopts(self) -> bool:
        """Whether the document says in so many words that Sluice shall have the account."""
        return self.managed and "managed" in self.model_fields_set
