"""Whether the requests for generic resources agree with each other and with tasks and nodes.

gres_job_state_validate() and _test_gres_cnt() of src/interfaces/gres.c, as they run inside sbatch: they
also fill in counts that follow from others (tasks from GPUs, nodes from GPUs a node), and sbatch sends
the counts so changed. Whether the GPUs exist is slurmctld's business.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Final

from bridge.sbatch.gres_counts import Counts, Requested, check
from bridge.sbatch.refusal import BAD_REQUEST, Refusal
from bridge.sbatch.tres import InvalidTres, entries

INVALID: Final = "Invalid generic resource (gres) specification"
INVALID_TYPE: Final = "Invalid GRES specification (with and without type identification)"
OPTIONS_OF: Final[Mapping[str, Sequence[str]]] = {
    "per_job": ("gpus",),
    "per_node": ("gres", "gpus-per-node"),
    "per_socket": ("gpus-per-socket",),
    "per_task": ("tres-per-task", "gpus-per-task", "cpus-per-task"),
    "cpus_per_gres": ("cpus-per-gpu",),
    "memory_per_gres": ("mem-per-gpu",),
}
"""Long names of the options that each text was put together from."""
INVALID_TRES: Final = "Invalid Trackable RESource (TRES) specification"
SHARED: Final = ("mps", "shard")


@dataclass(frozen=True, slots=True, kw_only=True)
class Texts:
    """The requests as they go to Slurm."""

    cpus_per_tres: str | None = None
    memory_per_tres: str | None = None
    tres_freq: str | None = None
    per_job: str | None = None
    per_node: str | None = None
    per_socket: str | None = None
    per_task: str | None = None


@dataclass(slots=True)
class _Validation:
    """The resources found so far, by name and type, in the order in which they were named."""

    counts: Counts
    known: Set[str] | None
    found: dict[tuple[str, str | None], Requested] = field(default_factory=dict)
    fault: str = ""
    faulty: str = ""
    """Which of the texts has the fault."""
    said: list[str] = field(default_factory=list)
    gpu: bool = False
    cpus_per_gres: int = 0
    checked: set[tuple[str, str | None]] = field(default_factory=set)
    mixed: bool = False

    def take(self, text: str | None, into: str) -> None:
        """Read one text; a fault in it is remembered and the next text still read."""
        try:
            for name, type_, count in entries(text) if text else ():
                if name is None:
                    return
                if self.known is not None and name not in self.known:
                    self.fault, self.faulty = INVALID, into
                    return
                self._set(name, type_, count=count, into=into)
        except InvalidTres as error:
            self.said += [error.said] if error.said else []
            self.fault, self.faulty = INVALID_TRES, into

    def _set(self, name: str, type_: str | None, *, count: int, into: str) -> None:
        one = self.found.setdefault((name, type_), Requested(name=name, type=type_))
        setattr(one, into, count)
        one.ntasks_per_gres = self.counts.ntasks_per_tres
        if into == "cpus_per_gres":
            self.cpus_per_gres = max(self.cpus_per_gres, count)
        if into in ("cpus_per_gres", "memory_per_gres"):
            return
        self.gpu |= name == "gpu"
        one.total = max(one.total, count * self._times(into))

    def note(self, key: tuple[str, str | None]) -> None:
        """Remember a resource that agreed; see whether it was named both with and without a type."""
        self.checked.add(key)
        self.mixed |= self.mixes((key[0], None))

    def mixes(self, key: tuple[str, str | None]) -> bool:
        """Whether this is a resource without a type that was also named with one."""
        typed = any(name == key[0] and type_ is not None for name, type_ in self.checked)
        return key[1] is None and key in self.checked and typed

    def _times(self, into: str) -> int:
        counts = self.counts
        if into == "per_node":
            return counts.nodes_min if counts.nodes_min is not None else 1
        if into == "per_task":
            return counts.ntasks if counts.ntasks is not None else 1
        if into != "per_socket":
            return 1
        if counts.nodes_min is not None and counts.sockets_per_node is not None:
            return counts.nodes_min * counts.sockets_per_node
        if counts.ntasks is not None and counts.ntasks_per_socket is not None:
            return -(-counts.ntasks // counts.ntasks_per_socket)
        return counts.sockets_per_node or 1


def validate(texts: Texts, counts: Counts, known: Set[str] | None) -> None:
    """Check the requests and fill in `counts`.

    Parameters
    ----------
    texts
        The requests.
    counts
        Tasks, nodes, CPUs as said; changed in place.
    known
        GresTypes of the cluster; None = not known, then slurmctld judges the names.

    Raises
    ------
    Refusal
        In sbatch's words.
    """
    _imply_tasks(texts, counts)
    state = _Validation(counts, known)
    for text, into in (
        (texts.cpus_per_tres, "cpus_per_gres"),
        (texts.per_job, "per_job"),
        (texts.per_node, "per_node"),
        (texts.per_socket, "per_socket"),
        (texts.per_task, "per_task"),
        (texts.memory_per_tres, "memory_per_gres"),
    ):
        state.take(text, into)
    _tasks_and_gpus(state)
    if state.fault:
        raise refused(*state.said, reason=state.fault, options=OPTIONS_OF.get(state.faulty, ()))
    if state.found:
        _agree(state, texts)


def refused(*said: str, reason: str = INVALID, options: Sequence[str] = ()) -> Refusal:
    """Refuse with what was said before and Slurm's own text of the error; `options` may be at fault."""
    return Refusal(*said, f"sbatch: error: {reason}", exit_code=BAD_REQUEST, among=options)


def _imply_tasks(texts: Texts, counts: Counts) -> None:
    """A fixed number of nodes fixes the tasks when resources hang on tasks."""
    asked = texts.per_task or counts.ntasks_per_tres is not None
    if not asked or counts.ntasks is not None or counts.nodes_min is None:
        return
    if counts.nodes_min != counts.nodes_max:
        return
    if counts.ntasks_per_tres is not None:
        counts.ntasks = counts.nodes_min * counts.ntasks_per_tres
    elif counts.ntasks_per_node is not None:
        counts.ntasks = counts.nodes_min * counts.ntasks_per_node
    elif counts.cpus_per_task is None:
        counts.ntasks = counts.nodes_min


def _tasks_and_gpus(state: _Validation) -> None:
    """``--ntasks-per-gpu``: tasks follow from GPUs, or GPUs from tasks."""
    counts = state.counts
    per_gpu = counts.ntasks_per_tres
    if not per_gpu:
        return
    if state.gpu and state.found:
        total = sum(one.total for one in state.found.values() if one.name == "gpu")
        counts.ntasks = total * per_gpu
    elif counts.ntasks:
        gpus = counts.ntasks // per_gpu
        if gpus:
            one = state.found.setdefault(("gpu", None), Requested(name="gpu", type=None))
            one.ntasks_per_gres, one.per_job = per_gpu, gpus
            one.total = max(one.total, gpus)
        state.gpu |= bool(state.found)
    else:
        state.said.append(
            "sbatch: error: gres_job_state_validate: --ntasks-per-tres needs either a GRES GPU"
            " specification or a node/ntask specification"
        )
        state.fault = INVALID


def _agree(state: _Validation, texts: Texts) -> None:
    for text, kind in ((texts.memory_per_tres, "mem_per_tres"), (texts.cpus_per_tres, "cpus_per_tres")):
        if text and not state.gpu:
            raise refused(f"sbatch: error: Requested {kind}={text} but did not request any GPU.")
    fault = _agree_one_by_one(state)
    if fault is None and _names(state) & set(SHARED) and "gpu" in (texts.tres_freq or ""):
        fault = ("", INVALID)
    if state.mixed:  # sbatch forgets what it found before, when a type is both named and not
        if any(state.mixes(key) and one.asked for key, one in state.found.items()):
            raise refused(*state.said, reason=INVALID_TYPE)
    elif fault is not None:
        raise refused(*state.said, reason=fault[1])


def _agree_one_by_one(state: _Validation) -> tuple[str, str] | None:
    """Check each resource; stop at the first that disagrees."""
    cpus = 0
    seen: set[str] = set()
    fault: tuple[str, str] | None = None
    for key, one in state.found.items():
        sentence = check(one, state.counts)
        if sentence:
            state.said.append(f"sbatch: error: {sentence}")
        seen.add(one.name)
        if sentence or ("gpu" in seen and seen & set(SHARED)):
            fault = (sentence, INVALID)
            break
        if one.name == "gpu":
            cpus += state.cpus_per_gres * one.total
        state.note(key)
    _raise_cpus(state.counts, cpus)
    return fault


def _names(state: _Validation) -> set[str]:
    return {one.name for one in state.found.values()}


def _raise_cpus(counts: Counts, cpus: int) -> None:
    counts.cpus_min = max(counts.cpus_min, cpus)
    if counts.cpus_per_task is not None and counts.ntasks is not None:
        counts.cpus_min = max(counts.cpus_min, counts.cpus_per_task * counts.ntasks)
