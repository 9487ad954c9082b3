"""Random batch scripts from the option table, good and bad, for comparison with real sbatch.

Values are drawn by the option's grammar; each script has a few directives, sometimes arguments and
variables. The same seed gives the same scripts.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from bridge.sbatch.getopt import Argument
from bridge.sbatch.options import OPTIONS, VARIABLES, Option, Support

VALUES: dict[str, tuple[str, ...]] = {
    "acctg-freq": ("30", "task=10", "task=10,energy=5", "foo", "network=x", "0", "energy=", ""),
    "begin": (
        "now",
        "now+1hour",
        "now+90",
        "now + 2 days",
        "noon",
        "fika",
        "teatime",
        "16:00",
        "4:30 PM",
        "12:00am",
        "13:00pm",
        "2027-01-20",
        "2027-01-20T12:34:00",
        "2020-02-31",
        "0120",
        "01/20/28",
        "12.24",
        "1/2",
        "tomorrow",
        "today",
        "Today",
        "uts1800000000",
        "1800000000",
        "25:00",
        "12:60",
        "midnight",
        "",
        "now+5h",
        "2027-13-01",
        "2027-00-10",
        "tomorrow noon",
        "010203",
        "01/02/3",
        "elevenses",
        "1:2",
        "now-1week",
    ),
    "core-spec": ("0", "1", "x", "-1"),
    "count": (
        "1",
        "2",
        "3",
        "4",
        "8",
        "0",
        "-1",
        "x",
        "2k",
        "",
        " 2",
        "+3",
        "99999999999",
        "2147483646",
        "1.5",
    ),
    "cpu-freq": (
        "low",
        "high",
        "2000000",
        "low-high:performance",
        "low-high",
        "userspace",
        "medium:userspace",
        "performance:ondemand",
        "high-low:ondemand",
        "foo",
        "0",
        "powersave",
        "low-high:userspace",
        "him1",
    ),
    "delay-boot": ("5", "1:30", "x", "infinite", "0"),
    "distribution": (
        "block",
        "cyclic",
        "plane=2",
        "plane",
        "plane=x",
        "plane=0",
        "block:cyclic",
        "block:*,pack",
        "*:fcyclic:block",
        "foo",
        "pack",
        "nopack",
        "block,nopack",
        "block,foo",
        "cyclic:cyclic:cyclic:x",
        "BLOCK",
        "fcyclic",
        "",
        ",pack",
    ),
    "exclusive": ("", "user", "mcs", "topo", "no", "oversubscribe", "USER", "allocation"),
    "file": ("out", "/abs/%j.log", "none", "NONE", "%x-%A_%a", ""),
    "gpu-bind": (
        "closest",
        "none",
        "single:2",
        "map:0,1",
        "map:0x",
        "mask:0x3,f",
        "per_task:1",
        "foo",
        "verbose,closest",
    ),
    "gpu-freq": ("low", "high,memory=low", "900", "foo", "verbose", "memory=x", "medium,verbose"),
    "gres": (
        "gpu",
        "gpu:2",
        "gpu:h100:2",
        "gres/gpu:1",
        "none",
        "shard:4",
        "foo:1",
        "gpu:x:y",
        "gpu:h100",
        "gpu:0",
        "gpu:2,shard:1",
        "gpu:h100:1,gpu:2",
        "gpu=",
        "gpu:",
        "",
        "gpu:1k",
        "gpu=2",
        "gpu:h100=2",
    ),
    "gres-flags": (
        "disable-binding",
        "enforce-binding",
        "disable-binding,enforce-binding",
        "foo",
        "multiple-tasks-per-sharing",
        "allow-task-sharing",
    ),
    "mail-type": (
        "ALL",
        "BEGIN,END",
        "none",
        "begin,foo",
        "foo",
        "TIME_LIMIT_80",
        "FAIL,NONE",
        "ARRAY_TASKS,FAIL",
        "",
    ),
    "mem-bind": (
        "none",
        "local",
        "rank",
        "map_mem:0,1",
        "mask_mem:0x3",
        "v,local",
        "foo",
        "map_mem:",
        "q,rank",
        "prefer,none",
    ),
    "mib": (
        "700",
        "3G",
        "2gb",
        "1024k",
        "1T",
        "0",
        "x",
        "1x",
        "-5",
        "+1G",
        "1KB",
        "",
        "1.5G",
        "99999999999999999999",
    ),
    "nice": ("", "5", "-5", "x", "99999999999", "0"),
    "no-kill": ("", "off", "no", "set", "x"),
    "nodes": (
        "1",
        "2",
        "1-3",
        "4-2",
        "2,4",
        "1-4:2",
        "x",
        "1k",
        "",
        "-3",
        "3-",
        "0",
        "1-9:3",
        "2,x",
        "1,3-5",
        "1-4:0",
        "16384,1",
        " 2",
    ),
    "open-mode": ("append", "t", "x", "", "A"),
    "path": ("/w", "sub", "~/x", ""),
    "priority": ("5", "TOP", "-1", "x", "4294967294"),
    "profile": ("all", "none", "task", "energy,network", "foo"),
    "propagate": ("", "ALL", "NONE", "STACK", "RLIMIT_CORE,NOFILE", "foo"),
    "req-switch": ("1", "x"),
    "requeue": ("", "foo"),
    "resv-ports": ("", "2"),
    "root-only": ("0", "ada"),
    "signal": (
        "USR1",
        "B:USR1@120",
        "R:9@60",
        "RB:TERM@5",
        "BR:HUP",
        "FOO",
        "10@x",
        "sigint@70000",
        "0",
        "",
        "B:",
        "@5",
        "SIGUSR2 ",
    ),
    "sockets-cores-threads": ("2", "2:4", "2:4:1", "*:8", "2-4:1", "x", "1:x", "-1", "*", "2:4:1:1"),
    "switches": ("1", "2@10", "x", "2@x", "0", "1@5:00"),
    "text": ("x", "a,b", "h100:1", "", "2", "gpu", "a b"),
    "thread-spec": ("1", "0", "x"),
    "time-limit": (
        "45",
        "1:02:30",
        "1-12:30",
        "0:240:0",
        "Infinite",
        "-5",
        "UNLIMITED",
        "3-1:0",
        "0:20",
        "99999-00:00:00",
        "1d",
        "30:",
        "",
        "0",
        "-1",
        "1-",
        "5-1:2:3",
        "1:2:3:4",
        "00:00:01",
        "1--2",
        "35791394:8",
        "68719476735",
    ),
    "tres-bind": (
        "gres/gpu:closest",
        "gpu:closest",
        "gres/gpu:single:2+gres/shard:none",
        "gres/gpu",
        "gres/shard:closest",
    ),
    "wait4switch": ("10", "x"),
    "yes-no": ("0", "1", "2", "x"),
}
TEXTS: dict[str, tuple[str, ...]] = {
    "array": ("1-4", "1,2%1", "x"),
    "gpus": ("2", "h100:2", "h100:1,a100:2", "0", "x", "1", "h100", "4"),
    "gpus-per-node": ("2", "h100:2", "1", "0", "h100"),
    "gpus-per-socket": ("1", "2"),
    "gpus-per-task": ("1", "h100:2", "2", "h100:1,a100:1", "0", "x"),
    "tres-per-task": (
        "cpu=2",
        "gres/gpu:1",
        "gres/gpu:h100=1,cpu=3",
        "gres:gpu:1",
        "mem=5",
        "cpu=0",
        "gres/shard=2",
        "license/a=1",
        "foo=1",
        "cpu:x:2",
        "gres/gpu",
        "license:a:1,cpu=1",
    ),
    "hint": (
        "nomultithread",
        "compute_bound",
        "memory_bound",
        "multithread",
        "foo",
        "compute_bound,nomultithread",
    ),
    "nodelist": (
        "gpu1",
        "gpu[1-2]",
        "gpu[1-2",
        "gpu1,gpu1",
        "gpu2,gpu1",
        "n[01-03],x",
        "a[1,3]b",
        "",
        "gpu[1-x]",
        "z9,a10,a9",
    ),
    "exclude": ("gpu1", "gpu[1-2]"),
    "export": (
        "ALL",
        "NONE",
        "NIL",
        "ALL,ZZ_N=2",
        "ZZ_KEEP",
        "ZZ_L='a,b',ALL",
        'ZZ_B,ZZ_P="q"',
        "none",
        "'ZZ_KEEP',ZZ_N=1",
        "",
    ),
    "dependency": ("singleton", "afterok:1", ""),
    "licenses": ("a:1", "a,b:2"),
    "clusters": ("rich",),
    "cluster": ("rich",),
}
SKIPPED = (
    "clusters",
    "cluster",
    "autocomplete",
    "reboot",
    "test-only",
    "wait",
    "help",
    "version",
    "usage",
    "wrap",
)


@dataclass(frozen=True)
class Case:
    """A script, its arguments and the caller's variables."""

    name: str
    script: bytes
    arguments: list[str] = field(default_factory=list)
    variables: dict[str, str] = field(default_factory=dict)


def cases(seed: int, count: int) -> list[Case]:
    """Return `count` cases."""
    source = random.Random(seed)  # noqa: S311 -- not for secrets
    return [_case(source, f"gen-{seed}-{number}") for number in range(count)]


def _options() -> list[Option]:
    return [o for o in OPTIONS if o.name and o.name not in SKIPPED and o.support is not Support.REFUSED]


_CORE = (
    "nodes",
    "ntasks",
    "ntasks-per-node",
    "cpus-per-task",
    "gpus",
    "gpus-per-node",
    "gpus-per-task",
    "gres",
    "cpus-per-gpu",
    "mem-per-gpu",
    "tres-per-task",
    "ntasks-per-gpu",
    "mem",
    "mem-per-cpu",
    "nodelist",
    "hint",
    "threads-per-core",
    "extra-node-info",
    "distribution",
    "sockets-per-node",
    "gpus-per-socket",
    "gpu-bind",
)


def _value(source: random.Random, option: Option) -> str:
    return source.choice(TEXTS.get(option.key) or VALUES.get(option.grammar) or ("1",))


def _good(source: random.Random, option: Option) -> str:
    listed = TEXTS.get(option.key) or VALUES.get(option.grammar) or ("1",)
    return source.choice(listed[: max(2, len(listed) // 3)])


def _said(source: random.Random, option: Option) -> list[str]:
    if option.argument is Argument.NONE:
        return [f"-{option.short}" if option.short and source.random() < 0.5 else f"--{option.name}"]
    value = _good(source, option) if source.random() < 0.8 else _value(source, option)
    if option.argument is Argument.OPTIONAL and not value:
        return [f"--{option.name}"]
    if option.short and source.random() < 0.4:
        glued = value and (source.random() < 0.5 or option.argument is Argument.OPTIONAL)
        return [f"-{option.short}{value}"] if glued else [f"-{option.short}", value]
    name = option.name
    if source.random() < 0.1:
        name = name[: source.randint(2, len(name))]
    glued = source.random() < 0.8 or option.argument is Argument.OPTIONAL
    return [f"--{name}={value}"] if glued else [f"--{name}", value]


def _quoted(source: random.Random, word: str) -> str:
    if not word or any(letter in word for letter in " #'\"\\"):
        quote = "'" if "'" not in word else '"'
        return f"{quote}{word}{quote}"
    return f'"{word}"' if source.random() < 0.1 else word


def _pick(source: random.Random) -> Option:
    options = _options()
    if source.random() < 0.5:
        core = [option for option in options if option.key in _CORE]
        return source.choice(core)
    return source.choice(options)


def _case(source: random.Random, name: str) -> Case:
    lines = ["#!/bin/sh"]
    for _ in range(source.randint(0, 4)):
        words = [word for _ in range(source.randint(1, 2)) for word in _said(source, _pick(source))]
        lines.append("#SBATCH " + " ".join(_quoted(source, word) for word in words))
    lines += [
        *([source.choice(("", "# c", "   ", "##SBATCH -n9"))] if source.random() < 0.2 else []),
        "hostname",
        "",
    ]
    arguments = [word for _ in range(source.choice((0, 0, 1, 2))) for word in _said(source, _pick(source))]
    variables: dict[str, str] = {}
    by_key = {option.key: option for option in _options()}
    for _ in range(source.choice((0, 0, 0, 1, 2))):
        variable, key = source.choice(list(VARIABLES.items()))
        if key in by_key and key not in SKIPPED:
            option = by_key[key]
            flag = option.argument is Argument.NONE
            variables[variable] = (
                source.choice(("", "yes", "1", "0", "no")) if flag else _good(source, option)
            )
    return Case(name, "\n".join(lines).encode(), arguments, variables)
