"""Grammars of what a job needs and where it runs: nodes, layout, sharing, binding, generic resources.

Functions as `bridge.sbatch.grammar` describes; each stands for an arg_set_* of src/common/slurm_opt.c.
"""

from __future__ import annotations

from typing import Final, cast

from bridge.sbatch import binding, distribution, frequency, nodes, times
from bridge.sbatch.ctext import lower, tokens
from bridge.sbatch.draft import Draft, Shared
from bridge.sbatch.integers import count
from bridge.sbatch.options import Option
from bridge.sbatch.refusal import Unsupported, bad_option, invalid
from bridge.sbatch.tres import with_prefix

GRES_FLAGS: Final = (
    *("disable-binding", "enforce-binding", "multiple-tasks-per-sharing", "one-task-per-sharing"),
)


def nodes_wanted(draft: Draft, option: Option, text: str | None) -> None:
    """Set the node count and its list of sizes."""
    draft.node_sizes = None
    wanted = nodes.node_count(text or "")
    draft.nodes = True
    draft.nodes_min, draft.nodes_max, draft.node_sizes = wanted.least, wanted.most, wanted.sizes


def layout(draft: Draft, option: Option, text: str | None) -> None:
    """-B: sockets[:cores[:threads]], each a count, a range (its start counts) or ``*``."""
    parts = [*(text or "").split(":"), "", ""][:3]
    for name, part, field in zip(("first", "second", "third"), parts, option.into[1:], strict=True):
        setattr(draft, field, nodes.least_of(part, f"{name} arg of -B"))
    draft.extra_node_info = True


def exclusive(draft: Draft, option: Option, text: str | None) -> None:
    """Set with whom nodes are shared; nothing said means with nobody."""
    word = lower(text or "exclusive")
    if word not in ("exclusive", "allocation", "oversubscribe", "user", "mcs", "topo"):
        raise invalid(option.name)
    draft.shared = "exclusive" if word == "allocation" else cast("Shared", word)


def oversubscribe(draft: Draft, option: Option, _text: str | None) -> None:
    """Let other jobs share."""
    draft.shared = "oversubscribe"


def gpu_bind(draft: Draft, option: Option, text: str | None) -> None:
    """Bind tasks to GPUs; it is a ``--tres-bind`` of ``gres/gpu``."""
    draft.tres_bind = f"gres/gpu:{text}"
    said = binding.fault_of_gpu_bind(text or "")
    if said is not None:
        raise bad_option(f"Invalid --gpu-bind argument: {text}", *said, option=option.key)


def gpu_freq(draft: Draft, option: Option, text: str | None) -> None:
    """Set the frequency of GPUs."""
    draft.gpu_freq, draft.tres_freq = text, f"gpu:{text}"
    if not binding.valid_gpu_freq(text or ""):
        raise bad_option(f"Invalid --gpu-freq argument: {draft.tres_freq}", option=option.key)


def mem_bind(draft: Draft, option: Option, text: str | None) -> None:
    """Bind tasks to memory."""
    draft.mem_bind = binding.mem_bind(text or "")


def cpu_freq(draft: Draft, option: Option, text: str | None) -> None:
    """Set the frequency of CPUs."""
    frequency.check(text or "")
    draft.cpu_freq = text


def gres(draft: Draft, option: Option, text: str | None) -> None:
    """Ask for generic resources; each gets its ``gres/``."""
    word = lower(text or "")
    if word in ("help", "list"):
        raise Unsupported(option.key, f"{text} prints what there is and submits nothing")
    draft.gres = text if word == "none" else with_prefix(text or "")


def gres_flags(draft: Draft, option: Option, text: str | None) -> None:
    """Set how generic resources bind."""
    kept = [flag for flag in draft.gres_flags if flag == "multiple-tasks-per-sharing"]
    for token in tokens(text or "", ","):
        flag = lower(token)
        if flag == "allow-task-sharing":
            raise bad_option(f"--gres-flags={flag} is only used with srun.", option=option.key)
        if flag not in GRES_FLAGS:
            raise bad_option(f"Invalid --gres-flags specification: {token}", option=option.key)
        kept.append(flag)
    for one, other in (GRES_FLAGS[:2], GRES_FLAGS[:1:-1]):
        if one in kept and other in kept:
            raise bad_option(
                f"Invalid --gres-flags combo: {one} and {other} are mutually exclusive.", option=option.key
            )
    draft.gres_flags = tuple(dict.fromkeys(kept))


def tasks_laid_out(draft: Draft, option: Option, text: str | None) -> None:
    """Set how tasks are laid out."""
    draft.distribution = distribution.distribution(text or "", draft.planesize)


def core_spec(draft: Draft, option: Option, text: str | None) -> None:
    """Keep cores for the system; a thread count is forgotten."""
    draft.core_spec = count(text or "", "--core-spec", positive=False, option=option.key)
    draft.thread_spec = None


def thread_spec(draft: Draft, option: Option, text: str | None) -> None:
    """Keep threads for the system; a core count is forgotten."""
    draft.thread_spec = count(text or "", "--thread-spec", positive=True, option=option.key)
    draft.core_spec = None


def switches(draft: Draft, option: Option, text: str | None) -> None:
    """Set the count of switches and how long to wait for it."""
    number, at, wait = (text or "").partition("@")
    if at:
        draft.switches_wait_s = times.seconds(wait)
    draft.switches = count(number, "--switches", positive=True, option=option.key)


def req_switch(draft: Draft, option: Option, text: str | None) -> None:
    """Set the count of switches alone, as SBATCH_REQ_SWITCH does."""
    draft.switches = count(text or "", "--switches", positive=True, option=option.key)


def switches_wait(draft: Draft, option: Option, text: str | None) -> None:
    """Set how long to wait for the switches."""
    draft.switches_wait_s = times.seconds(text or "")
