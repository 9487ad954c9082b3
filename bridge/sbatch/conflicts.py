"""Options that exclude or change each other, judged when all have been read.

validate_options_salloc_sbatch_srun() and validate_hint_option() of src/common/slurm_opt.c, in their
order: the first fault is the one that sbatch names. What a directive or argument says drives out what
only a variable said.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from bridge.sbatch import attachments
from bridge.sbatch.ctext import lower
from bridge.sbatch.draft import Draft
from bridge.sbatch.gres import SHARED
from bridge.sbatch.integers import strtol
from bridge.sbatch.refusal import Unsupported, bad_number, fatal
from bridge.sbatch.tres import InvalidTres, Tres, entries, with_count

_MEMORY: Final = ("mem", "mem-per-cpu", "mem-per-gpu")
_NO_TASK_TRES: Final = ("mem", "energy", "node", "billing", "fs", "vmem", "pages", "bb")
_LAYOUT: Final = (
    *("ntasks-per-core", "cores-per-socket", "sockets-per-node", "threads-per-core", "extra-node-info"),
)
_PER_GPU_RIVALS: Final = (
    *(("tres-per-task", "TRES_PER_TASK"), ("gpus-per-task", "GPUS_PER_TASK")),
    *(("gpus-per-socket", "GPUS_PER_SOCKET"), ("ntasks-per-node", "NTASKS_PER_NODE")),
)
_HINT_COMMA = re.compile(r",(?![0-9])")


def judge(draft: Draft) -> None:
    """Check the draft and settle what one option does to another.

    Raises
    ------
    Refusal
        In sbatch's words.
    """
    for rule in _RULES:
        rule(draft)


def _gres_and_gpus(draft: Draft) -> None:
    if "gres/gpu" in (draft.gres or "") and (draft.by_cli("gpus-per-node") or draft.by_env("gpus-per-node")):
        raise fatal("--gpus-per-node and --gres=gpu are mutually exclusive.", "gres")


def _tasks_per_gpu(draft: Draft) -> None:
    gpu, tres = draft.by_cli("ntasks-per-gpu"), draft.by_cli("ntasks-per-tres")
    if not gpu and not tres:
        return
    if gpu and tres and draft.ntasks_per_gpu != draft.ntasks_per_tres:
        raise fatal(
            f"Inconsistent values set to --ntasks-per-gpu={draft.ntasks_per_gpu}"
            f" and --ntasks-per-tres={draft.ntasks_per_tres} ",
            "ntasks-per-gpu",
        )
    for option, variable in _PER_GPU_RIVALS:
        others = "is mutually exclusive with --ntasks-per-gpu and SLURM_NTASKS_PER_GPU"
        if draft.by_cli(option):
            raise fatal(f"--{option} {others}", option)
        holds_gpus = option != "tres-per-task" or "gres/gpu" in (draft.tres_per_task or "")
        if draft.by_env(option) and holds_gpus:
            raise fatal(f"SLURM_{variable} {others}", option)


def _spec_cores(draft: Draft) -> None:
    if draft.by_cli("core-spec") and draft.by_cli("thread-spec"):
        raise fatal("-S/--core-spec and --thred-spec options are mutually exclusive", "core-spec")
    both = draft.by_env("core-spec") and draft.by_env("thread-spec")
    if both and not draft.by_cli("core-spec", "thread-spec"):
        raise fatal(
            "Both --core-spec and --thread-spec set using environment variables. Those options are mutually"
            " exclusive.",
            "core-spec",
        )


def _memory(draft: Draft) -> None:
    said = [option for option in _MEMORY if draft.by_cli(option)]
    if len(said) > 1:
        raise fatal("--mem, --mem-per-cpu, and --mem-per-gpu are mutually exclusive.", said[1])
    if said:
        for option in _MEMORY:
            if option != said[0]:
                draft.reset(option)
    elif sum(draft.by_env(option) for option in _MEMORY) > 1:
        raise fatal(
            "SLURM_MEM_PER_CPU, SLURM_MEM_PER_GPU, and SLURM_MEM_PER_NODE are mutually exclusive.", "mem"
        )


def _sharing(draft: Draft) -> None:
    if draft.by_cli("exclusive") and draft.by_cli("oversubscribe"):
        raise fatal("--exclusive and --oversubscribe options are mutually exclusive", "exclusive")


def _tres_per_task(draft: Draft) -> None:
    text = lower(draft.tres_per_task or "")
    for kind in _NO_TASK_TRES:
        if text.startswith(kind) or f",{kind}" in text:
            raise fatal(f"Invalid TRES for --tres-per-task: {kind}", "tres-per-task")
    for kind in ("license", "gres"):
        if draft.tres_per_task and f"{kind}:" in draft.tres_per_task:
            tokens = filter(None, draft.tres_per_task.split(","))
            draft.tres_per_task = ",".join(re.sub(rf"^{kind}:", f"{kind}/", token) for token in tokens)
    rest = draft.gpus_per_task or ""
    while rest:
        name, count, rest = _next_gpus(rest)
        _from_sibling(draft, "gpus-per-task", name, count)
    _from_sibling(draft, "cpus-per-task", "cpu", draft.cpus_per_task)
    cpus = _entries(draft.tres_per_task, "cpu")
    if cpus:
        draft.cpus_per_task = cpus[0].amount
    _bind_per_task(draft)


def _next_gpus(text: str) -> tuple[str, int, str]:
    """Read the first of ``TYPE:N,...`` or ``N``: the TRES, its count, the rest."""
    mark = ":" if ":" in text else "="
    kind, found, number = text.partition(mark)
    if not found:
        return "gres/gpu", strtol(text)[0], ""
    return f"gres/gpu:{kind}", strtol(number)[0], text.partition(",")[2]


def _from_sibling(draft: Draft, option: str, name: str, count: int | None) -> None:
    """Bring ``--cpus-per-task`` or ``--gpus-per-task`` and ``--tres-per-task`` together."""
    text = draft.tres_per_task
    at = lower(text or "").find(lower(name))
    if text is None or at < 0:
        if count is not None:
            draft.tres_per_task = with_count(text, name, count)
        return
    if draft.by_cli(option) and draft.by_cli("tres-per-task"):
        raise fatal(
            f"You can not have --tres-per-task={name}= and --{option} please use one or the other", option
        )
    if draft.by_cli(option) and draft.by_env("tres-per-task"):
        draft.tres_per_task = with_count(text, name, count or 0)
        return
    value = strtol(text[at + len(name) + 1 :])[0]
    if value <= 0:
        raise fatal(f"Invalid --tres-per-task={name}={value}", "tres-per-task")


def _bind_per_task(draft: Draft) -> None:
    """Resources for each task are bound to it unless a binding of theirs was said."""
    gpus = 0
    for name, _, count in _entries(draft.tres_per_task, "gres"):
        if name is None or (draft.tres_bind and name in draft.tres_bind):
            continue
        if name == "gpu":
            gpus += count
        else:
            _bind(draft, name, count)
    if gpus:
        _bind(draft, "gpu", gpus)


def _bind(draft: Draft, name: str, count: int) -> None:
    said = f"{draft.tres_bind}+" if draft.tres_bind else ""
    draft.tres_bind = f"{said}gres/{name}:per_task:{count}"


def _entries(text: str | None, kind: str) -> list[Tres]:
    found: list[Tres] = []
    with suppress(InvalidTres):  # the request for resources is judged later, as a whole
        found.extend(entries(text or "", kind))
    return found


def _cpus_per_gpu(draft: Draft) -> None:
    keys = ["cpus-per-task"]
    if "cpu" in lower(draft.tres_per_task or ""):
        keys.append("tres-per-task")
    cli, env = draft.by_cli(*keys), draft.by_env(*keys)
    if (cli and draft.by_cli("cpus-per-gpu")) or (env and draft.by_env("cpus-per-gpu")):
        raise fatal(
            "--cpus-per-task, --tres-per-task=cpu:#, and --cpus-per-gpu are mutually exclusive",
            "cpus-per-gpu",
        )
    if cli and draft.by_env("cpus-per-gpu"):
        draft.reset("cpus-per-gpu")
    elif draft.by_cli("cpus-per-gpu") and env:
        draft.reset("cpus-per-task")
        draft.tres_per_task = with_count(draft.tres_per_task, "cpu", 0)


def _node_files(draft: Draft) -> None:
    if "/" in (draft.nodelist or ""):
        draft.nodelist = attachments.node_list(draft, draft.nodelist or "", option="nodelist")
    if "/" in (draft.exclude or ""):
        draft.exclude = attachments.node_list(draft, draft.exclude or "", option="exclude")


def _arbitrary(draft: Draft) -> None:
    if (draft.distribution or "").startswith("arbitrary") and draft.nodes and not draft.by_env("nodes"):
        raise bad_number("--nodes is incompatible with --distribution=arbitrary", "distribution")


def _gres_flags(draft: Draft) -> None:
    if "one-task-per-sharing" not in draft.gres_flags:
        return
    if not any(tres.name in SHARED for tres in _entries(draft.tres_per_task, "gres")):
        raise fatal(
            "--gres-flags=one-task-per-sharing requested, but that shared gres needs to appear in"
            " --tres-per-task as well.",
            "gres-flags",
        )


def hint(draft: Draft) -> str | None:
    """Turn ``--hint`` into the layout that it stands for; return it when it counts.

    Raises
    ------
    Refusal
        An unknown word.
    """
    if draft.hint is None:
        return None
    if draft.by_cli(*_LAYOUT):
        draft.reset("hint")
        return None
    if draft.by_cli("hint"):
        for option in _LAYOUT:
            draft.reset(option)
    elif draft.by_env("threads-per-core"):
        draft.reset("hint")
        return None
    for word in _HINT_COMMA.sub(";", draft.hint).split(";"):
        _apply_hint(draft, word)
    return draft.hint


def _apply_hint(draft: Draft, word: str) -> None:
    match lower(word):
        case "compute_bound":
            draft.sockets_per_node = draft.cores_per_socket = None
            draft.threads_per_core = 1
        case "memory_bound":
            draft.cores_per_socket = draft.threads_per_core = 1
        case "multithread":
            draft.threads_per_core = None
            draft.ntasks_per_core = 0xFFFF
        case "nomultithread":
            draft.threads_per_core = 1
        case "help":
            raise Unsupported("hint", "help prints the hints and submits nothing")
        case _:
            raise bad_number(f'unrecognized --hint argument "{word}", see --hint=help', "hint")


_RULES: Final[tuple[Callable[[Draft], None], ...]] = (
    *(_gres_and_gpus, _tasks_per_gpu, _spec_cores, _memory, _sharing, _tres_per_task),
    *(_cpus_per_gpu, _node_files, _arbitrary, _gres_flags),
)
