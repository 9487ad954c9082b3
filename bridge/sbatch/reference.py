"""The reference page of sbatch's options, written from the option table.

``python -m bridge.sbatch.reference > docs/reference/sbatch-options.md``; a test holds the page current.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Final

from bridge.sbatch.getopt import Argument
from bridge.sbatch.grammar import GRAMMARS
from bridge.sbatch.options import EARLY_VARIABLES, OPTIONS, VARIABLES, Option, Support

_HEAD: Final = """\
# Options of a batch script

<!-- Written by `python -m bridge.sbatch.reference`; change the table in bridge/sbatch/options.py. -->

A job that comes over HTTP is read with these options, from its `#SBATCH` lines, from the caller's
`SBATCH_*` variables and from arguments, each later one over the earlier ones, as sbatch of Slurm 26.05
reads them. *Carried*: it reaches Slurm as sbatch would send it. *Client*: it tells the client what to do
and never reaches Slurm. *Refused*: the request is refused with the option's name; nothing is submitted.
Long names may be cut short where that is unambiguous. A value says what sbatch takes; whether the cluster
has it is Slurm's to judge. Heterogeneous jobs (`#SBATCH hetjob`) are refused by name.

| option | value | what it asks | variable | here |
|---|---|---|---|---|
"""

_VALUES_HEAD: Final = """
## Values

| kind | how it is written |
|---|---|
"""

_NAMES: Final = {Argument.NONE: "--{}", Argument.REQUIRED: "--{}=", Argument.OPTIONAL: "--{}[=]"}


def page() -> str:
    """Return the page as Markdown."""
    rows = "".join(_row(option) for option in sorted(OPTIONS, key=lambda option: option.name) if option.name)
    kinds = "".join(f"| {kind} | {_cell(text)} |\n" for kind, (_, text) in GRAMMARS.items() if _used(kind))
    return f"{_HEAD}{rows}{_VALUES_HEAD}{kinds}"


def _row(option: Option) -> str:
    name = _NAMES[option.argument].format(option.name)
    names = f"`{name}` `-{option.short}`" if option.short else f"`{name}`"
    kind = "" if option.grammar in ("flag", "never") else option.grammar
    variables = " ".join(f"`{name}`" for name in _variables(option))
    return f"| {names} | {kind} | {_cell(_about(option))} | {variables} | {option.support} |\n"


def _about(option: Option) -> str:
    said = option.about
    if option.alias_of:
        said = f"the same as `--{option.alias_of}`"
    if option.since:
        said = f"{said} (since Slurm {option.since})"
    if option.early and option.support is Support.CLIENT:
        said = f"{said}; in a script it is passed over"
    return said


def _variables(option: Option) -> Iterator[str]:
    for name, key in {**EARLY_VARIABLES, **VARIABLES}.items():
        if key == option.key:
            yield name


def _used(kind: str) -> bool:
    return any(o.grammar == kind and o.name and o.support is not Support.REFUSED for o in OPTIONS)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    sys.stdout.write(page())
