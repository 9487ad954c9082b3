"""Who belongs to a tenant beside those it lists: groups of the site's directory, programs with tokens.

Pure pydantic; part of the tenant document (`bridge.policy.tenant`).
"""

from __future__ import annotations

from typing import Annotated, Final, Literal, Self

from pydantic import StringConstraints, model_validator

from bridge.policy.grants import Document

Role = Literal["member", "manager"]
Identity = Literal["local", "nss"]
USER_NAME: Final = r"^[a-z_][a-z0-9_-]{0,30}$"
UserName = Annotated[str, StringConstraints(pattern=USER_NAME)]
"""A Linux user name as useradd accepts it, at most 31 characters."""
GROUP_NAME: Final = r"^[A-Za-z_][A-Za-z0-9_. -]{0,63}$"
"""A POSIX group as directories name it; spaces are Active Directory's."""
SERVICE_ACCOUNT: Final = r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?:[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$"
Subject = Annotated[str, StringConstraints(min_length=1, max_length=255)]
"""A subject or an issuer; OpenID Connect Core 1.0, section 2, gives the length."""


class PosixGroup(Document):
    """A group of the site's own directory (NSS: SSSD, LDAP); its members are members of the tenant."""

    group: Annotated[str, StringConstraints(pattern=GROUP_NAME)]
    """Its name, as `getent group` takes it."""
    role: Role = "member"
    """Of all its members."""


class Service(Document):
    """A program with tokens of its own, whose jobs run as a member; named by `kubernetes` or `subject`."""

    kubernetes: Annotated[str, StringConstraints(pattern=SERVICE_ACCOUNT)] | None = None
    """A ServiceAccount as `namespace:name`."""
    subject: Subject | None = None
    """Any other subject of an OIDC issuer."""
    issuer: Subject
    """As tokens have it in `iss`."""
    user: UserName
    """The member that its jobs run as."""

    @model_validator(mode="after")
    def _one_subject(self) -> Self:
        if (self.kubernetes is None) == (self.subject is None):
            raise ValueError("give one of kubernetes (namespace:name) and subject")
        return self

    @property
    def token_subject(self) -> str:
        """The subject as tokens have it."""
        if self.kubernetes is not None:
            return f"system:serviceaccount:{self.kubernetes}"
        return self.subject or ""
