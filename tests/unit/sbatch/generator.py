"""Random batch scripts from the option table, good and bad, for comparison with real sbatch.

Values are drawn by the option's grammar; each script has a few directives, sometimes arguments and
variables. The same seed gives the same scripts.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field
from pathlib import Path

from bridge.sbatch.getopt import Argument
from bridge.sbatch.options import OPTIONS, VARIABLES, Option, Support


def _tables() -> dict[str, dict[str, tuple[str, ...]]]:
    tables: dict[str, dict[str, list[str]]] = {"grammar": {}, "option": {}, "lines": {}}
    values: list[str] = []
    for line in _VALUES.read_text().splitlines():
        if line.startswith("  "):
            values.append(json.loads(line))
        elif not line.startswith("#"):
            kind, name = line.split()
            values = tables[kind].setdefault(name, [])
    return {kind: {name: tuple(listed) for name, listed in table.items()} for kind, table in tables.items()}


_VALUES = Path(__file__).parents[2] / "data" / "sbatch" / "values.txt"
_TABLES = _tables()
SKIPPED = {
    *(
        "autocomplete",
        "clusters",
        "cluster",
        "reboot",
        "test-only",
        "wait",
        "help",
        "version",
        "usage",
        "wrap",
    ),
    "verbose",
}
"""Options of the client, of administrators, or that need what the clusters of the tests lack."""


@dataclass(frozen=True)
class Case:
    """A script, its arguments and the caller's variables."""

    name: str
    script: bytes
    arguments: list[str] = field(default_factory=list)
    variables: dict[str, str] = field(default_factory=dict)
    stdin: bool = False
    """Whether the script comes on standard input instead of from a file."""


def cases(seed: int, count: int) -> list[Case]:
    """Return `count` cases."""
    source = random.Random(seed)
    return [_case(source, f"gen-{seed}-{number}") for number in range(count)]


def het_jobs(seed: int, count: int) -> list[Case]:
    """Return jobs of several components, begun in the script, among the arguments, or both."""
    source = random.Random(seed)
    found = []
    for number in range(count):
        name = f"het-{seed}-{number}"
        parts = [_case(source, name) for _ in range(source.choice((2, 2, 3)))]
        separators = source.choice(["#SBATCH hetjob"] * 4 + ["#SBATCH packjob", "#SBATCH HetJob -n2"])
        bodies = [_lines_of(part) for part in parts]
        lines = [line for at, body in enumerate(bodies) for line in [separators] * bool(at) + body]
        if number % 3 == 0:
            lines = bodies[0]
        asked = [part.arguments for part in parts[: source.choice((1, 2, 2))]]
        arguments = [word for at, words in enumerate(asked) for word in [":"] * bool(at) + words]
        text = "\n".join(["#!/bin/sh", *lines, "hostname", ""])
        found.append(Case(name, text.encode(), arguments, parts[0].variables))
    return found


def _lines_of(case: Case) -> list[str]:
    return [line for line in case.script.decode().splitlines() if line.startswith("#SBATCH")]


def _options() -> list[Option]:
    return [o for o in OPTIONS if o.name and o.name not in SKIPPED and o.support is not Support.REFUSED]


_CORE = (
    *("nodes", "ntasks", "ntasks-per-node", "cpus-per-task", "gpus", "gpus-per-node"),
    *("gpus-per-task", "gres", "cpus-per-gpu", "mem-per-gpu", "tres-per-task", "ntasks-per-gpu"),
    *("mem", "mem-per-cpu", "nodelist", "hint", "threads-per-core", "extra-node-info"),
    *("distribution", "sockets-per-node", "gpus-per-socket", "gpu-bind"),
)
"""Options that judge each other: half of what is drawn."""


_NOT_CARRIED = {option.name for option in OPTIONS if option.support is Support.REFUSED} | SKIPPED


def _values(option: Option) -> tuple[str, ...]:
    return _TABLES["option"].get(option.key) or _TABLES["grammar"].get(option.grammar) or ("1",)


def _value(source: random.Random, option: Option) -> str:
    return source.choice(_values(option))


def _good(source: random.Random, option: Option) -> str:
    listed = _values(option)
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
        short = name[: source.randint(2, len(name))]
        name = name if short in _NOT_CARRIED else short
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


def structures(seed: int, count: int) -> list[Case]:
    """Return scripts that try the scanner: quotes, escapes, comments, other systems' lines, bad ends."""
    source = random.Random(seed)
    found = []
    for number in range(count):
        first = source.choice(["#!/bin/sh"] * 12 + ["", "#! /bin/sh", " #!/bin/sh"])
        lines = [first, *(source.choice(_TABLES["lines"]["script"]) for _ in range(source.randint(1, 4)))]
        text = "\n".join(lines) + source.choice(
            ["\n", "\n", "\nhostname\n", "", "\r\n", "\0\n"][: source.choice((4, 4, 6))]
        )
        found.append(Case(f"str-{seed}-{number}", text.encode(), stdin=number % 7 == 0))
    return found
