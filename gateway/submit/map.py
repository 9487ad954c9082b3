"""From a request to what the parser of batch scripts takes. Pure.

In: the JSON document or the raw body with its query. Out: a `Submission`, the same for both forms, and
from it the words, variables and context of `bridge.sbatch.parse`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from typing import Final

from bridge.errors import InputError
from bridge.sbatch import SiteOption, SubmitContext
from gateway.schemas.v1.submit import OptionValue, SubmitJob

LOGIN_PATH: Final = "/usr/local/bin:/usr/bin:/bin:/usr/local/games:/usr/games"
"""PATH of an ordinary user's login shell (Debian's /etc/profile)."""
LOGIN_SHELL: Final = "/bin/bash"

_FIELDS_AS_OPTIONS: Final = {"tenant": "account", "job_class": "qos", "name": "job-name"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """One request to submit, whatever its form was."""

    script: bytes
    arguments: tuple[str, ...] = ()
    argv: tuple[str, ...] = ()
    work_dir: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    tenant: str | None = None
    job_class: str | None = None
    name: str | None = None
    file_name: str | None = None
    submit_host: str | None = None
    limits: Mapping[str, int] | None = None
    """Soft limits of the caller's process; -1 is unlimited."""
    files: Mapping[str, bytes] = field(default_factory=dict)
    """What is in files that options name, by the path as it was written."""

    @property
    def fingerprint(self) -> str:
        """sha256 of all of it: equal for equal requests."""
        files = {path: content.hex() for path, content in self.files.items()}
        parts = asdict(self) | {"script": self.script.hex(), "files": files}
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where submissions go and come from: names that end in contexts and ids."""

    cluster: Callable[[], str]
    """The cluster's name; raises `Unavailable` as long as it was never read."""
    homes_dir: str
    host: str
    site_options: tuple[SiteOption, ...] = ()
    """Options of the site's SPANK plugins."""
    gres_types: Callable[[], frozenset[str] | None] = lambda: None
    """Kinds of generic resources of the cluster; None = not known, and slurmctld judges their names."""
    login_limits: Mapping[str, int] | None = None
    """Soft limits of a login, for requests that bring none; None = the node's own hold."""


def from_json(body: SubmitJob) -> Submission:
    """Map the JSON form.

    Raises
    ------
    InputError
        A field and an option say the same thing (`tenant` and `options.account`).
    """
    options = body.options
    return _checked(
        Submission(
            script=body.script.encode() if body.script_base64 is None else body.script_base64,
            arguments=tuple(options) if isinstance(options, list) else _words(options),
            argv=tuple(body.args),
            work_dir=body.work_dir,
            environment=body.environment,
            tenant=body.tenant,
            job_class=body.job_class,
            name=body.name,
            file_name=body.file_name,
            submit_host=body.submit_host,
            files=body.files,
            limits=None if body.limits is None else {str(name): value for name, value in body.limits.items()},
        )
    )


def from_raw(
    script: bytes,
    *,
    arguments: Sequence[str],
    argv: Sequence[str],
    work_dir: str | None,
    tenant: str | None,
    job_class: str | None,
    name: str | None,
    file_name: str | None,
) -> Submission:
    """Map the raw form: the body is the script, byte for byte."""
    return _checked(
        Submission(
            script=script,
            arguments=tuple(arguments),
            argv=tuple(argv),
            work_dir=work_dir,
            tenant=tenant,
            job_class=job_class,
            name=name,
            file_name=file_name,
        )
    )


def words(submission: Submission) -> tuple[str, ...]:
    """Return sbatch's words: the options of the request, then what its fields say."""
    fields = [
        f"--{option}={value}"
        for attribute, option in _FIELDS_AS_OPTIONS.items()
        if (value := getattr(submission, attribute)) is not None
    ]
    return (*submission.arguments, *fields)


def with_file(known: SubmitContext, path: str, content: bytes | None) -> SubmitContext:
    """Add what is in a file that an option names; None = it can't be read."""
    return replace(known, files={**known.files, path: content})


def context(submission: Submission, *, user: str, place: Place, now: datetime) -> SubmitContext:
    """Return what sbatch would read from its process, for a fresh login of `user`."""
    home = f"{place.homes_dir}/{user}"
    return SubmitContext(
        user=user,
        home=home,
        work_dir=submission.work_dir or home,
        host=submission.submit_host or place.host,
        limits=place.login_limits if submission.limits is None else submission.limits,
        cluster=place.cluster(),
        gres_types=place.gres_types(),
        site_options=place.site_options,
        now=now,
        environment=submission.environment,
        login_environment={
            "HOME": home,
            "USER": user,
            "LOGNAME": user,
            "SHELL": LOGIN_SHELL,
            "PATH": LOGIN_PATH,
        },
        file_name=submission.file_name,
        files=submission.files,
    )


def _words(options: Mapping[str, OptionValue]) -> tuple[str, ...]:
    found: list[str] = []
    for name, value in options.items():
        if not name or name.startswith("-") or not name.replace("-", "").replace("_", "").isalnum():
            raise InputError(
                f"options has {name!r}, which is no option's name; write sbatch's long names without dashes "
                "in front, as time or job-name",
                option=name,
            )
        for item in value if isinstance(value, list) else [value]:
            if item is None or item is False:
                continue
            found.append(f"--{name}" if item is True else f"--{name}={item}")
    return tuple(found)


def _checked(submission: Submission) -> Submission:
    _no_nul(submission)
    if submission.work_dir is not None and not submission.work_dir.startswith("/"):
        raise InputError(
            f"work_dir {submission.work_dir!r} is not absolute; begin it with /", field="work_dir"
        )
    for attribute, option in _FIELDS_AS_OPTIONS.items():
        if getattr(submission, attribute) is None:
            continue
        if any(word == f"--{option}" or word.startswith(f"--{option}=") for word in submission.arguments):
            shown = "class" if attribute == "job_class" else attribute
            raise InputError(f"both {shown} and the option --{option} are given; keep one", option=option)
    return submission


def _no_nul(submission: Submission) -> None:
    # Slurm's texts end at a NUL: what was judged would not be what is submitted.
    given = ("work_dir", "tenant", "job_class", "name", "file_name")
    texts = (*submission.arguments, *(getattr(submission, attribute) or "" for attribute in given))
    if any("\0" in text for text in texts):
        raise InputError("an option or a field holds a NUL character; leave it out")
