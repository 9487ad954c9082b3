"""Options of a site's SPANK plugins, as real sbatch (26.05.5) carried those of a small plugin."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from bridge.errors import ScriptError
from bridge.sbatch import ParsedScript, SiteOption, parse
from bridge.sbatch.getopt import Argument
from tests.unit.sbatch.description import context_of

OPTIONS = (
    SiteOption("demo", "demo-image", Argument.REQUIRED),
    SiteOption("demo", "demo-quick", Argument.NONE),
    SiteOption("demo", "demo-level", Argument.OPTIONAL),
)
_IMAGE, _QUICK, _LEVEL = (f"_SLURM_SPANK_OPTION_demo_demo_{name}" for name in ("image", "quick", "level"))


def read(line: str, arguments: tuple[str, ...] = ()) -> ParsedScript:
    context = context_of("a", now=datetime(2026, 11, 30, tzinfo=UTC), site_options=OPTIONS)
    return parse(f"#!/bin/sh\n{line}\n".encode(), arguments=arguments, context=context)


def test_an_option_reaches_the_plugin_the_user_and_the_prolog() -> None:
    spec = read("#SBATCH --demo-image=a/b:1 --demo-quick --demo-lev=3").spec
    assert (spec.environment[_IMAGE], spec.environment[_QUICK], spec.environment[_LEVEL]) == (
        "a/b:1",
        "",
        "3",
    )
    assert spec.environment[f"SLURM_SPANK_{_IMAGE}"] == "a/b:1"
    assert spec.environment[f"SLURM_SPANK_{_QUICK}"] == "(null)"
    assert spec.site == {_IMAGE: "a/b:1", _QUICK: "(null)", _LEVEL: "3"}


def test_it_passes_every_export_and_the_arguments_win() -> None:
    spec = read("#SBATCH --export=NONE --demo-image=a", ("--demo-image=b",)).spec
    assert spec.environment[_IMAGE] == "b"


def test_without_the_site_s_word_it_is_unrecognized() -> None:
    context = context_of("a", now=datetime(2026, 11, 30, tzinfo=UTC))
    with pytest.raises(ScriptError, match="demo-image"):
        parse(b"#!/bin/sh\n#SBATCH --demo-image=a\n", context=context)
