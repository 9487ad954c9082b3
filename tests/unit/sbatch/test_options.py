"""The option table is whole, and the reference page written from it is current."""

from __future__ import annotations

import dataclasses
from collections import Counter
from pathlib import Path

from bridge.job import JobSpec
from bridge.sbatch import build
from bridge.sbatch.draft import Draft
from bridge.sbatch.getopt import Argument
from bridge.sbatch.grammar import GRAMMARS
from bridge.sbatch.options import BY_KEY, EARLY_VARIABLES, OPTIONS, VARIABLES, Support
from bridge.sbatch.reference import page

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "sbatch-options.md"
DRAFT = {field.name for field in dataclasses.fields(Draft)}
SPEC = {field.name for field in dataclasses.fields(JobSpec)}


def test_names_and_letters_are_unique() -> None:
    names = Counter(option.name for option in OPTIONS if option.name)
    letters = Counter(option.short for option in OPTIONS if option.short)
    assert [name for name, count in (names + letters).items() if count > 1] == []


def test_every_row_has_a_grammar_and_fields_of_the_draft() -> None:
    for option in OPTIONS:
        assert option.grammar in GRAMMARS, option.name
        assert set(option.into) <= DRAFT, option.name
        assert option.into or option.grammar in ("never", "root-only"), option.name
        assert (option.support is Support.REFUSED) == (option.grammar in ("never", "root-only")), option.name


def test_no_row_of_sbatch_is_a_site_s() -> None:
    assert not [option.name for option in OPTIONS if option.grammar == "site"]


def test_flags_take_no_value() -> None:
    flags = {"flag", "tally", "no-requeue", "oversubscribe"}
    for option in OPTIONS:
        if option.grammar in flags:
            assert option.argument is Argument.NONE, option.name


def test_every_variable_says_an_option() -> None:
    for variable, key in {**EARLY_VARIABLES, **VARIABLES}.items():
        assert key in BY_KEY, variable


def test_what_is_copied_by_name_exists_on_both_sides() -> None:
    assert set(build._AS_THEY_ARE) <= DRAFT & SPEC
    assert set(build._SHORTS) <= DRAFT & SPEC
    assert set(build._COUNTS) <= SPEC


def test_the_reference_page_is_current() -> None:
    assert PAGE.read_text() == page(), (
        f"python -m bridge.sbatch.reference > {PAGE.relative_to(Path(__file__).parents[3])}"
    )
