"""What a job's environment is: ``--export``, and what sbatch itself puts in.

_fill_job_desc_from_opts() of src/sbatch/sbatch.c and env_merge_filter() of src/common/env.c. What stands
for sbatch's own environment is, for a job that comes over HTTP, the user's login environment with what
the request gives on top: never this process's. Limits (SLURM_RLIMIT_*) are those of the caller's process
where they are known; else none are sent, and the node's own hold.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from bridge.sbatch import attachments, layout, limits, site
from bridge.sbatch.context import SubmitContext
from bridge.sbatch.ctext import lower
from bridge.sbatch.draft import Draft

DEFAULT_UMASK: Final = 0o022

_NEVER: Final = ("SLURM_JWT", "SLURM_STEPMGR")
"""A token of the caller's; a mark of an outer job (sbatch drops both)."""

_SPANK_PREFIX: Final = "_SLURM_SPANK_OPTION_"
_LAUNCHERS: Final[Mapping[str, str]] = MappingProxyType(
    {"OMPI_MCA_plm_slurm_args": "--external-launcher", "PRTE_MCA_plm_slurm_args": "--external-launcher"}
)
_HYDRA: Final = (
    ("HYDRA_BOOTSTRAP", "HYDRA_LAUNCHER_EXTRA_ARGS"),
    ("I_MPI_HYDRA_BOOTSTRAP", "I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS"),
)


class Surroundings:
    """What stands for sbatch's own environment; each component of a job adds to it in turn.

    The job starts in the environment of its first component: sbatch tells that alone how each is laid out.
    """

    def __init__(self, context: SubmitContext) -> None:
        self._leader: dict[str, str] = {}
        self._context = context
        self._own = {**context.login_environment, **context.environment}
        for name in _NEVER:
            self._own.pop(name, None)

    def component(self, draft: Draft, *, hint: str | None, nodes: str | None) -> dict[str, str]:
        """Return the environment that a component is sent with, its layout aside.

        Parameters
        ----------
        draft
            The settled request.
        hint
            The hint that counts.
        nodes
            The node list as it is sent (for an arbitrary distribution).
        """
        if draft.export_file is not None:  # sbatch forgets its own environment for the file's
            self._own = {}
        own = self._own
        own |= _submission(draft, self._context)
        own |= site.of_job(draft.site)
        own |= limits.variables(draft, self._context.limits)
        own |= {} if hint is None else {"SLURM_HINT": hint}
        for name, value in _said(draft).items():
            own.setdefault(name, value)
        job, load_login = _exported(draft, own)
        draft.get_user_env |= load_login
        if draft.get_user_env:
            job["SLURM_GET_USER_ENV"] = "1"
        if layout.arbitrary(draft) and nodes:
            job["SLURM_ARBITRARY_NODELIST"] = nodes
        self._leader = self._leader or job
        return job

    def tell_leader(self, draft: Draft, group: int | None) -> None:
        """Tell the first component about this one; `group` is its place, None for a job of one piece."""
        values = layout.variables(draft) | _memory_binding(draft, self._context)
        suffix = "" if group is None else f"_HET_GROUP_{group}"
        self._leader.update({f"{name}{suffix}": value for name, value in values.items()})

    def complete(self) -> dict[str, str]:
        """Return the first component's environment.

        The MPI launchers that start over srun are told that they are not srun itself.
        """
        leader = self._leader
        for name, value in _LAUNCHERS.items():
            leader.setdefault(name, value)
        for name, extra in _HYDRA:
            if self._own.get(name, "slurm") == "slurm":
                leader.setdefault(name, "slurm")
                leader.setdefault(extra, "--external-launcher")
        return leader


def _memory_binding(draft: Draft, context: SubmitContext) -> dict[str, str]:
    if not draft.mem_bind:
        return {}
    found = {"SLURM_MEM_BIND_VERBOSE": "verbose" if "verbose" in draft.mem_bind else "quiet"}
    if "SBATCH_MEM_BIND" not in context.environment:
        found["SLURM_MEM_BIND"] = draft.mem_bind
    return found


def _submission(draft: Draft, context: SubmitContext) -> dict[str, str]:
    mask = draft.umask if draft.umask is not None else DEFAULT_UMASK
    found = {
        "SLURM_SUBMIT_DIR": context.work_dir,
        "SLURM_SUBMIT_HOST": context.host,
        "SLURM_PRIO_PROCESS": "0",
    }
    if "SLURM_UMASK" not in context.environment:
        found["SLURM_UMASK"] = f"0{mask:03o}"
    if draft.dependency is not None:
        found["SLURM_JOB_DEPENDENCY"] = draft.dependency
    return found


def _said(draft: Draft) -> dict[str, str]:
    """What sbatch sets only where nothing stands yet."""
    wanted = {
        "SLURM_EXPORT_ENV": None if _all(draft.export) else draft.export,
        "SLURM_CONTAINER": draft.container,
        "SLURM_CONTAINER_ID": draft.container_id,
    }
    return {name: value for name, value in wanted.items() if value is not None}


def _exported(draft: Draft, own: dict[str, str]) -> tuple[dict[str, str], bool]:
    """Apply ``--export``; also return whether the login environment is loaded on the node."""
    listed = {} if draft.export_file is None else attachments.variables(draft, draft.export_file)
    if draft.export is None and draft.export_file is not None:
        return _of_slurm(own), False
    if _all(draft.export):
        return listed | own, False
    match lower(draft.export or ""):
        case "nil":
            return _of_slurm(own), False
        case "none":
            return _of_slurm(own), True
    job: dict[str, str] = listed
    for token in quoted_tokens(draft.export or ""):
        name, equals, value = token.partition("=")
        if lower(token) == "all":
            job |= own
        elif equals:
            job[name] = value
        elif token in own:
            job[token] = own[token]
    return job | _of_slurm(own), True


def _all(export: str | None) -> bool:
    return export is None or lower(export) == "all"


def _of_slurm(own: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in own.items() if name.startswith(("SLURM", _SPANK_PREFIX))}


def quoted_tokens(text: str) -> list[str]:
    """Split ``--export`` at commas outside quotes, as find_quote_token() of src/common/env.c does.

    A token wholly in one kind of quotes loses them; either kind of quote opens and closes only itself.
    """
    found: list[str] = []
    start = 0
    open_quotes = {"'": False, '"': False}
    for at, letter in enumerate(text + "\0"):
        if letter in open_quotes:
            open_quotes[letter] = not open_quotes[letter]
        elif (letter == "," and not any(open_quotes.values())) or letter == "\0":
            token = text[start:at]
            if len(token) > 1 and token[0] in open_quotes and token[-1] == token[0]:
                token = token[1:-1]
            found.append(token)
            start = at + 1
    return [token for token in found if token]
