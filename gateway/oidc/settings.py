"""What a site says about its OIDC issuers, in the site file (``oidc:``). Pure.

A Kubernetes cluster is an issuer like any other: its ServiceAccounts are named in tenants' documents
(``services``), so that it needs neither `user` nor `groups`.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Final, Literal, Self
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from bridge.policy.tenant import Name, Role

Algorithm = Literal["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]
"""Signatures by a private key alone. HS* would make everybody who can check a token able to make one."""

PLACE: Final = re.compile(r"\{([A-Za-z0-9_]*)\}")
_LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")


class Part(BaseModel):
    """What all parts have in common: frozen, and no unknown key."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class UserClaim(Part):
    """How a claim becomes a Linux user."""

    claim: str = "preferred_username"
    """``email`` counts only when the issuer says ``email_verified``."""
    pattern: str = "(.+)"
    """A regular expression that the whole claim must match."""
    template: str = "{1}"
    """The user's name; ``{1}`` and ``{name}`` are groups of the pattern."""

    @model_validator(mode="after")
    def _fits(self) -> Self:
        try:
            pattern = re.compile(self.pattern)
        except re.error as error:
            raise ValueError(f"pattern is not a regular expression: {error}") from error
        known = {str(number) for number in range(pattern.groups + 1)} | pattern.groupindex.keys()
        unknown = sorted(set(PLACE.findall(self.template)) - known)
        if unknown:
            raise ValueError(f"template names {{{unknown[0]}}}, which is no group of the pattern")
        return self


class GroupRole(Part):
    """A role in a tenant for the members of a group."""

    group: Annotated[str, Field(min_length=1)]
    tenant: Name
    role: Role = "member"


class GroupClaim(Part):
    """How groups in a token become roles."""

    claim: str = "groups"
    """A list of names; ``realm_access.roles`` goes into maps."""
    roles: tuple[GroupRole, ...] = ()
    administrators: frozenset[str] = frozenset()
    """Groups whose members are administrators of Sluice."""


class Issuer(Part):
    """One issuer."""

    issuer: str
    """Exactly as tokens have it in ``iss``."""
    audience: Annotated[tuple[str, ...], Field(min_length=1)]
    """A token must be for one of these."""
    algorithms: Annotated[frozenset[Algorithm], Field(min_length=1)] = frozenset({"RS256", "ES256", "EdDSA"})
    jwks_url: str | None = None
    """Where the keys are; without it the issuer's discovery document says so."""
    user: UserClaim | None = None
    """Without it only subjects that documents name are known."""
    groups: GroupClaim | None = None
    leeway_s: Annotated[float, Field(ge=0, le=300)] = 30
    """Clock skew that is forgiven."""
    keys_fresh_s: Annotated[float, Field(gt=0)] = 300
    """Age of the keys from which on they are read anew; the last good ones stay when that fails."""
    keys_pause_s: Annotated[float, Field(gt=0)] = 10
    """Between two readings, whatever tokens come: an unknown key id reads them at most this often."""
    timeout_s: Annotated[float, Field(gt=0, le=60)] = 5
    ca_file: Path | None = None
    """Certificate authorities of the issuer, when not the system's."""
    token_file: Path | None = None
    """A bearer token for reading the keys, as a Kubernetes API server may ask; read anew each time."""
    allow_http: bool = False
    """Keys without TLS, from elsewhere than this machine: for tests and closed networks alone."""

    @field_validator("issuer", "jwks_url")
    @classmethod
    def _address(cls, url: str | None) -> str | None:
        if url is not None and (urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).hostname):
            raise ValueError(f"{url!r} is not an http(s) address")
        return url

    @model_validator(mode="after")
    def _encrypted(self) -> Self:
        self.check_address(self.jwks_url or self.issuer)
        return self

    def check_address(self, url: str) -> None:
        """Raise `ValueError` for an address that keys must not be read from."""
        parts = urlsplit(url)
        if parts.scheme == "https" or self.allow_http or parts.hostname in _LOOPBACK:
            return
        raise ValueError(f"{url} is not https; whoever changes keys on the way makes tokens")


class Oidc(Part):
    """All issuers."""

    issuers: tuple[Issuer, ...] = ()

    @field_validator("issuers")
    @classmethod
    def _once(cls, issuers: tuple[Issuer, ...]) -> tuple[Issuer, ...]:
        names = [issuer.issuer for issuer in issuers]
        doubled = sorted({name for name in names if names.count(name) > 1})
        if doubled:
            raise ValueError(f"issuer {doubled[0]} is here twice; put its audiences into one entry")
        return issuers
