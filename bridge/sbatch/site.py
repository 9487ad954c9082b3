"""Options of a site's SPANK plugins: what a plugin registers, as sbatch adds it to its own options.

Pure. In: what the site configured (`SubmitContext.site_options`). Out: rows for getopt, and what an option
that was said leaves behind: a variable of the job (`_option_setenv` of src/common/spank.c) and of the job's
prolog. What the plugin itself checks of a value is not known here: it does so on the node.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from bridge.sbatch.getopt import Argument, Getopt
from bridge.sbatch.options import OPTIONS, Option

_ADVICE: Final = 'Try "sbatch --help" for more information'
_PREFIX: Final = "_SLURM_SPANK_OPTION_"
_NOT_CANONICAL: Final = re.compile(r"[^A-Za-z0-9]")
_UNSAID: Final = "(null)"
"""How C's printf shows the value of an option that was said without one."""


@dataclass(frozen=True, slots=True)
class SiteOption:
    """One option of one plugin."""

    plugin: str
    """The plugin's name, SPANK_PLUGIN's first argument."""
    name: str
    """Long name, without dashes."""
    argument: Argument = Argument.REQUIRED
    about: str = ""

    @property
    def variable(self) -> str:
        """The variable that carries it to the node."""
        return "_".join((_PREFIX.rstrip("_"), _canonical(self.plugin), _canonical(self.name)))


def row(option: SiteOption) -> Option:
    """Return the option's row."""
    return Option(option.name, "", option.argument, "site", (option.variable,), option.about)


@lru_cache(maxsize=8)
def getopt(options: tuple[SiteOption, ...]) -> Getopt[Option]:
    """Return sbatch's own options and these, which come after them."""
    return Getopt((*OPTIONS, *map(row, options)), advice=_ADVICE)


def of_job(said: Mapping[str, str | None]) -> dict[str, str]:
    """Return what an option leaves in the job's environment: for the plugin, and for the user to see."""
    found = {variable: value or "" for variable, value in said.items()}
    return found | {f"SLURM_SPANK_{variable}": value for variable, value in of_prolog(said).items()}


def of_prolog(said: Mapping[str, str | None]) -> dict[str, str]:
    """Return what it leaves for Prolog and Epilog (spank_job_env)."""
    return {variable: _UNSAID if value is None else value for variable, value in said.items()}


def _canonical(name: str) -> str:
    return _NOT_CANONICAL.sub("_", name)
