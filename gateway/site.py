"""The site's own settings of the HTTP door, one YAML file (``SLUICE_GATEWAY_SITE_FILE``).

What flows in: the file. What flows out: `Site`: options of SPANK plugins, limits of a login, OIDC issuers
(`gateway.oidc.settings`)::

    spank_options:
      - {plugin: pyxis, option: container-image, argument: required, about: image to run in}
    oidc:
      issuers:
        - {issuer: "https://login.example.org", audience: [sluice], user: {claim: preferred_username}}
    login_limits: {NOFILE: 131072, STACK: 8388608}
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import yaml
from pydantic import BaseModel, ConfigDict, StringConstraints, ValidationError

from bridge.errors import InputError
from bridge.sbatch import SiteOption
from bridge.sbatch.getopt import Argument
from bridge.sbatch.options import OPTIONS
from gateway.oidc.settings import Oidc
from gateway.schemas.v1.submit import LimitName

_OWN: Final = frozenset(option.name for option in OPTIONS)
_Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$")]


class SpankOption(BaseModel):
    """One option of a plugin, as it registers it (spank.h's struct spank_option)."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    plugin: _Name
    option: _Name
    argument: Argument = Argument.REQUIRED
    about: str = ""


class Site(BaseModel):
    """The whole file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    spank_options: tuple[SpankOption, ...] = ()
    oidc: Oidc = Oidc()
    login_limits: dict[LimitName, int] | None = None
    """Soft limits of a login (``ulimit -S``; -1 is unlimited), for jobs whose request brings none."""

    def limits(self) -> dict[str, int] | None:
        """Return the limits as the parser takes them."""
        if self.login_limits is None:
            return None
        return {str(name): value for name, value in self.login_limits.items()}

    def options(self) -> tuple[SiteOption, ...]:
        """Return the options as the parser takes them."""
        return tuple(
            SiteOption(each.plugin, each.option, each.argument, each.about) for each in self.spank_options
        )


def read_site(path: Path | None) -> Site:
    """Read the file; without one nothing is set.

    Raises
    ------
    InputError
        It can't be read, isn't what it should be, or names an option of sbatch's own.
    """
    if path is None:
        return Site()
    try:
        site = Site.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")) or {})
    except (OSError, yaml.YAMLError) as error:
        raise InputError(f"the site file {path} can't be read: {error}", file=str(path)) from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise InputError(f"{path}: {where}: {first['msg']}", file=str(path)) from error
    for each in site.spank_options:
        if each.option in _OWN:
            raise InputError(f"{path}: --{each.option} is sbatch's own option; leave it out", file=str(path))
    return site
