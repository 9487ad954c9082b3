"""What flows into and out of the parser: the submit context, the parsed script, origins of values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from bridge.job import JobSpec
from bridge.sbatch.site import SiteOption


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmitContext:
    """Who submits, from where and when: all that sbatch would read from its process.

    `now` is aware and in the *cluster's* zone: begin and deadline words are read in it. `environment`
    is what the caller gave for the job; `login_environment` is what a fresh login of the user has
    (HOME, USER, LOGNAME, SHELL, PATH). `work_dir` is the submit directory.
    """

    user: str
    home: str
    work_dir: str
    host: str
    now: datetime
    environment: Mapping[str, str] = field(default_factory=dict)
    login_environment: Mapping[str, str] = field(default_factory=dict)
    file_name: str | None = None
    """Name of the script's file; None = it came without one (stdin), so the job is named ``sbatch``."""
    gres_types: frozenset[str] | None = None
    """GresTypes of the cluster; None = not known: then slurmctld judges names of generic resources."""
    site_options: tuple[SiteOption, ...] = ()
    """Options of the site's SPANK plugins."""
    limits: Mapping[str, int] | None = None
    """Soft limits of the caller's process by Slurm's names (``NOFILE``), -1 unlimited; None = not known."""
    files: Mapping[str, bytes | None] = field(default_factory=dict)
    """What is in files that options name, by the path as it was written; None = it can't be read."""
    cluster: str | None = None
    """Slurm's name of the cluster, for ``--clusters``; None = not known."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where an option's final value came from, for lint and for errors."""

    source: Literal["script", "environment", "argument"]
    text: str
    """The option as written (``--time=10``), or the variable's name."""
    line: int | None = None
    column: int | None = None
    """1-based, of a directive in the script."""
    value: str | None = None
    """What was said; None for an option without a value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientOptions:
    """Options that tell the client what to do and never reach slurmctld."""

    test_only: bool = False
    wait: bool = False
    parsable: bool = False
    quiet: bool = False
    verbose: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedScript:
    """The job that a script asks for, and how it came about."""

    specs: tuple[JobSpec, ...]
    """One job; several are the components of a heterogeneous one, of which the first has the script."""
    warnings: tuple[str, ...] = ()
    """Sentences for the user; nothing was refused."""
    origins_of: tuple[Mapping[str, Origin], ...] = ()
    """Of each component: long option name (``time``) to where its value came from."""
    overruled: frozenset[str] = frozenset()
    """Options that were said and count for nothing, since others rule them out."""
    client: ClientOptions = ClientOptions()

    @property
    def spec(self) -> JobSpec:
        """The job, of a heterogeneous one its first component (the leader)."""
        return self.specs[0]

    @property
    def origins(self) -> Mapping[str, Origin]:
        """Where the values of the job (of its leader) came from."""
        return self.origins_of[0]
