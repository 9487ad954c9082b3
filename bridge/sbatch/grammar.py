"""How each kind of value is read into the draft: one function a grammar, named in the option table.

A function gets the draft, the option's row and the text (None for a flag, or for an optional value that
was not given) and sets the row's fields, or refuses in sbatch's words. Each stands for the arg_set_*
functions of src/common/slurm_opt.c.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from bridge.sbatch import attachments, conduct, dates, memory, placement, times
from bridge.sbatch.ctext import lower
from bridge.sbatch.draft import Draft
from bridge.sbatch.integers import count
from bridge.sbatch.options import Option
from bridge.sbatch.refusal import Unsupported, bad_option, invalid

Grammar = Callable[[Draft, Option, "str | None"], None]


def _text(draft: Draft, option: Option, text: str | None) -> None:
    setattr(draft, option.into[0], text)


def _flag(draft: Draft, option: Option, _text: str | None) -> None:
    setattr(draft, option.into[0], True)


def _tally(draft: Draft, option: Option, text: str | None) -> None:
    before = getattr(draft, option.into[0])
    value = before + 1 if text is None else count(text, "--verbose", positive=False, option=option.key)
    setattr(draft, option.into[0], value)


def _count(draft: Draft, option: Option, text: str | None) -> None:
    setattr(draft, option.into[0], count(text or "", f"--{option.key}", positive=True, option=option.key))
    if option.key == "ntasks":
        draft.ntasks_set = True


def _mib(draft: Draft, option: Option, text: str | None) -> None:
    size_mib = memory.mebibytes(text or "")
    if size_mib is None:
        raise invalid(option.name)
    setattr(draft, option.into[0], size_mib)


def _time_limit(draft: Draft, option: Option, text: str | None) -> None:
    limit_min = times.minutes(text or "")
    if limit_min is None:
        raise invalid(option.name)
    setattr(draft, option.into[0], limit_min)


def _moment(draft: Draft, option: Option, text: str | None) -> None:
    if draft.now is None:  # pragma: no cover -- parse() always sets it
        raise Unsupported(option.key, "no clock was given")
    try:
        when = dates.moment(text or "", draft.now)
    except dates.NotAMoment as error:
        said = f"Invalid time specification (pos={error.position}): {text}"
        raise invalid(option.name, said) from None
    if when is None:
        raise invalid(option.name)
    setattr(draft, option.into[0], when)


def _path(draft: Draft, option: Option, text: str | None) -> None:
    path = text or ""
    draft.chdir = path if path.startswith("/") else f"{draft.work_dir}/{path}"


def _file(draft: Draft, option: Option, text: str | None) -> None:
    setattr(draft, option.into[0], "/dev/null" if lower(text or "") == "none" else text)


def _nodefile(draft: Draft, option: Option, text: str | None) -> None:
    draft.nodelist = attachments.node_list(draft, text or "", option=option.key)


def _site(draft: Draft, option: Option, text: str | None) -> None:
    draft.site[option.into[0]] = text


def _root_only(draft: Draft, option: Option, text: str | None) -> None:
    raise bad_option(f"--{option.name} only permitted by root user", option=option.key)


def _never(draft: Draft, option: Option, text: str | None) -> None:
    raise Unsupported(option.key, "this option is not supported here; leave it out")


GRAMMARS: Final[Mapping[str, tuple[Grammar, str]]] = MappingProxyType(
    {
        "acctg-freq": (
            conduct.acctg_freq,
            "`SECONDS` or `KIND=SECONDS,...`; energy, task, filesystem, network",
        ),
        "begin": (_moment, "`now+2hours`, `tomorrow`, `16:00`, `MM/DD/YY`, `YYYY-MM-DD[THH:MM[:SS]]`"),
        "core-spec": (placement.core_spec, "a count, 0 allowed"),
        "count": (_count, "a count from 1"),
        "cpu-freq": (placement.cpu_freq, "`MIN[-MAX[:GOVERNOR]]`, kHz or low, medium, high, highm1"),
        "deadline": (_moment, "as `--begin`"),
        "delay-boot": (conduct.delay_boot, "a duration, see `--time`"),
        "distribution": (placement.tasks_laid_out, "`NODES[:SOCKETS[:CORES]][,pack|nopack]`, `plane=N`"),
        "exclusive": (placement.exclusive, "nothing, `user`, `mcs`, `topo` or `oversubscribe`"),
        "file": (_file, "a path with patterns (`%j`, `%A_%a`, `%x`), or `none`"),
        "flag": (_flag, "no value"),
        "gpu-bind": (
            placement.gpu_bind,
            "`closest`, `none`, `map:0,1`, `mask:0x3`, `per_task:N`, `single:N`",
        ),
        "gpu-freq": (placement.gpu_freq, "`low|medium|high|highm1|MHZ[,memory=...][,verbose]`"),
        "gres": (placement.gres, "`NAME[:TYPE][:N],...` or `none`"),
        "gres-flags": (placement.gres_flags, ", ".join(placement.GRES_FLAGS)),
        "mail-type": (conduct.mail_type, "BEGIN, END, FAIL, REQUEUE, ALL, NONE, TIME_LIMIT_80, ..."),
        "mem-bind": (
            placement.mem_bind,
            "`none`, `rank`, `local`, `map_mem:LIST`, `mask_mem:LIST`, `prefer`",
        ),
        "mem-update": (conduct.mem_update, "`PERCENT@DURATION`"),
        "mib": (_mib, "an integer of MiB, or with `K`, `M`, `G`, `T`"),
        "never": (_never, "not read"),
        "nice": (conduct.nice, "an integer"),
        "no-kill": (conduct.no_kill, "nothing, or `off`"),
        "no-requeue": (conduct.no_requeue, "no value"),
        "nodefile": (_nodefile, "a file; one or more names a line"),
        "nodes": (placement.nodes_wanted, "`N`, `MIN-MAX`, `N,N,...` or `MIN-MAX:STEP`"),
        "oom-kill": (conduct.oom_kill, "nothing, `0` or `1`"),
        "open-mode": (conduct.open_mode, "`append` or `truncate`; the first letter counts"),
        "oversubscribe": (placement.oversubscribe, "no value"),
        "path": (_path, "a directory, relative to the submit directory"),
        "priority": (conduct.priority, "an integer from 0, or `TOP`"),
        "profile": (conduct.profile, "`all`, `none`, or of energy, task, lustre, network"),
        "propagate": (conduct.propagate, "`ALL`, `NONE`, or names of limits"),
        "req-switch": (placement.req_switch, "a count from 1"),
        "requeue": (conduct.requeue, "nothing, or `expedite`"),
        "resv-ports": (conduct.resv_ports, "a count, 0 allowed"),
        "root-only": (_root_only, "not for users"),
        "segment": (conduct.segment, "a count"),
        "signal": (conduct.signal, "`[R][B][:]NAME|NUMBER[@SECONDS]`"),
        "site": (_site, "what the plugin takes"),
        "sockets-cores-threads": (placement.layout, "`SOCKETS[:CORES[:THREADS]]`, each a count or `*`"),
        "switches": (placement.switches, "`N[@DURATION]`"),
        "tally": (_tally, "no value"),
        "text": (_text, "text, taken as it is"),
        "thread-spec": (placement.thread_spec, "a count from 1"),
        "time-limit": (_time_limit, "`MIN`, `MIN:SEC`, `H:MM:SS`, `D-H[:MM[:SS]]`, `infinite`; rounded up"),
        "umask": (conduct.umask, "an octal mask"),
        "wait4switch": (placement.switches_wait, "a duration"),
        "yes-or-no": (conduct.yes_or_no, "`yes` or `no`"),
        "yes-no": (conduct.yes_no, "`0` or `1`"),
    }
)
"""Grammar to the function that reads it and the line of the reference that describes it."""
